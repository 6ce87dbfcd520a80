// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/delegate.h>

#include <inttypes.h>
#include <string.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/payload/shape_inference.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch::backends::xnnpack {

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using kernels::engine::Precision;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

namespace {

/// True if the payload declares a tensor without dimensions as a vector of one element, as the
/// programs of ExecuTorch do.
bool is_scalar_for(const Tensor& tensor, size_t declared_rank) {
  return tensor.dim() == 0 && declared_rank == 1;
}

/// The dtype of an argument with this datatype.
Result<ScalarType> dtype_of(const fb_xnnpack::TensorValue& value) {
  switch (value.datatype()) {
    case fb_xnnpack::Datatype::Float32:
      return ScalarType::Float;
    case fb_xnnpack::Datatype::Float16:
      return ScalarType::Half;
    case fb_xnnpack::Datatype::BFloat16:
      return ScalarType::BFloat16;
    case fb_xnnpack::Datatype::QInt8:
      return ScalarType::Char;
    case fb_xnnpack::Datatype::QUInt8:
      return ScalarType::Byte;
    case fb_xnnpack::Datatype::QInt32:
    case fb_xnnpack::Datatype::Int32:
      return ScalarType::Int;
    case fb_xnnpack::Datatype::Bool:
      return ScalarType::Bool;
    default:
      ET_LOG(Error, "xnnpack: argument %" PRIu32 " has datatype %s", value.external_id(),
             fb_xnnpack::EnumNameDatatype(value.datatype()));
      return Error::NotSupported;
  }
}

}  // namespace

Result<std::unique_ptr<Delegate>> Delegate::create(const Payload& payload,
                                                   DelegateOptions options) {
  std::unique_ptr<Delegate> delegate(new Delegate(payload));
  delegate->threads_ = std::move(options.threads);
  delegate->is_profiled_ = options.is_profiled;
  delegate->limit_of_all_ = working_limit(options.settings.workspace_limit());
  delegate->workspace_ = workspace_for(options.settings.sharing, options.workspace_user);
  delegate->inputs_ = runtime::internal::count(payload.graph->input_ids());
  const std::vector<const fb_xnnpack::XValue*> values = values_by_id(*payload.graph);
  for (const uint32_t id : argument_ids(*payload.graph)) {
    ET_CHECK_OK_OR_RETURN_ERROR(delegate->add_argument(tensor_of(*values[id])));
  }
  const std::vector<Shape> shapes = delegate->input_shapes();
  (void)ET_UNWRAP(infer_shapes(payload, {shapes.data(), shapes.size()}));
  ET_CHECK_OK_OR_RETURN_ERROR(delegate->create_executor(options));
  ET_CHECK_OK_OR_RETURN_ERROR(delegate->reshape_to_declared());
  return delegate;
}

Error Delegate::create_executor(const DelegateOptions& options) {
  const bool is_cached = options.settings.caches_weights;
  const std::vector<bool> packed = packed_constants(payload_);
  constants_ = ET_UNWRAP(Constants::load(payload_, options.names, packed));
  if (is_cached && !options.settings.cache_path.empty()) {
    unsaved_ = PackedFile::at(options.settings.cache_path);
  }
  std::unique_lock<std::mutex> creation;
  if (is_cached) {
    creation = PackedWeights::of_process().lock_creation();
    ConstantDigests digests(payload_, constants_, unsaved_);
    weights_ = std::make_unique<WeightsSession>(
        WeightKeys(payload_, constants_, std::move(digests)), unsaved_, size_of(payload_, packed));
  }
  executor_ = ET_UNWRAP(
      Executor::create(payload_, constants_,
                       ExecutorOptions{weights_.get(), threads_.get(), is_profiled_,
                                       options.settings.precision.value_or(Precision::Float32),
                                       options.settings.workspace_limit()}));
  if (is_cached) {
    weights_->finish();
  }
  constants_.free(packed);
  return Error::Ok;
}

void Delegate::describe(ET_RUNTIME_NAMESPACE::DelegateOperatorVisitor visit) const {
  const std::unique_lock<std::mutex> guard = workspace_->lock();
  executor_->describe(visit);
}

Delegate::~Delegate() {
  if (unsaved_ != nullptr) {
    unsaved_->save();
  }
}

Error Delegate::reshape_to_declared() {
  const std::unique_lock<std::mutex> guard = workspace_->lock();
  return reshape();
}

Error Delegate::reshape() {
  planned_ = false;
  const std::vector<Shape> inputs = input_shapes();
  ET_CHECK_OK_OR_RETURN_ERROR(executor_->reshape({inputs.data(), inputs.size()}, workspace_.get()));
  planned_ = true;
  return Error::Ok;
}

Error Delegate::add_argument(const fb_xnnpack::TensorValue& tensor) {
  const Shape declared = declared_shape(tensor);
  Argument argument{ET_UNWRAP(dtype_of(tensor)), declared.rank, {}, {}};
  std::copy_n(declared.dims, declared.rank, argument.dims);
  arguments_.push_back(std::move(argument));
  data_.push_back(nullptr);
  return Error::Ok;
}

std::vector<Shape> Delegate::input_shapes() const {
  std::vector<Shape> shapes(inputs_);
  for (size_t i = 0; i < inputs_; ++i) {
    shapes[i].rank = arguments_[i].rank;
    std::copy_n(arguments_[i].dims, arguments_[i].rank, shapes[i].dims);
  }
  return shapes;
}

Result<const Tensor*> Delegate::checked(Span<EValue*> args, size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(args[index]->isTensor(), InvalidArgument,
                           "xnnpack: argument %zu is not a tensor", index);
  const Tensor& tensor = args[index]->toTensor();
  const Argument& expected = arguments_[index];
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == expected.dtype, InvalidArgument,
                           "xnnpack: argument %zu has dtype %d, expected %d", index,
                           static_cast<int>(tensor.scalar_type()),
                           static_cast<int>(expected.dtype));
  const bool fits =
      static_cast<size_t>(tensor.dim()) == expected.rank || is_scalar_for(tensor, expected.rank);
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument,
                           "xnnpack: argument %zu has %zd dimensions, expected %zu", index,
                           static_cast<ssize_t>(tensor.dim()), expected.rank);
  return &tensor;
}

Error Delegate::take_input(size_t index, const Tensor& tensor) {
  Argument& argument = arguments_[index];
  const bool is_scalar = is_scalar_for(tensor, argument.rank);
  DimOrderType order[Shape::kMaxRank];
  if (!is_scalar) {
    ET_CHECK_OK_OR_RETURN_ERROR(ET_RUNTIME_NAMESPACE::get_dim_order(tensor, order, argument.rank));
  }
  for (size_t d = 0; d < argument.rank; ++d) {
    const size_t size = is_scalar ? 1 : static_cast<size_t>(tensor.size(order[d]));
    // A later input may fail this call: the next one must know that the plan has other sizes.
    planned_ = planned_ && argument.dims[d] == size;
    argument.dims[d] = size;
  }
  void* data = tensor.mutable_data_ptr();
  const size_t bytes = tensor.nbytes();
  if (!may_be_read_beyond(data, bytes)) {
    data = memcpy(ET_UNWRAP(copy_memory(index, bytes)), data, bytes);
  }
  data_[index] = data;
  return Error::Ok;
}

namespace {

/// @param dims Sizes from outermost to innermost in memory.
template <typename Size>
Error resize(const Tensor& tensor, const Size* dims, size_t rank) {
  if (is_scalar_for(tensor, rank)) {
    ET_CHECK_OR_RETURN_ERROR(dims[0] == 1, InvalidProgram,
                             "xnnpack: an output without dimensions would get %zu elements",
                             static_cast<size_t>(dims[0]));
    return Error::Ok;
  }
  DimOrderType order[Shape::kMaxRank];
  ET_CHECK_OK_OR_RETURN_ERROR(ET_RUNTIME_NAMESPACE::get_dim_order(tensor, order, rank));
  SizesType sizes[Shape::kMaxRank];
  for (size_t d = 0; d < rank; ++d) {
    sizes[order[d]] = static_cast<SizesType>(dims[d]);
  }
  return ET_RUNTIME_NAMESPACE::resize_tensor(tensor,
                                             executorch::aten::ArrayRef<SizesType>(sizes, rank));
}

}  // namespace

Error Delegate::resize_output(size_t index, const Tensor& tensor) {
  const Shape shape = ET_UNWRAP(executor_->shape_of(index));
  ET_CHECK_OR_RETURN_ERROR(shape.rank == arguments_[index].rank, Internal,
                           "xnnpack: argument %zu has %zu dimensions, expected %zu", index,
                           shape.rank, arguments_[index].rank);
  return resize(tensor, shape.dims, shape.rank);
}

Result<void*> Delegate::copy_memory(size_t index, size_t bytes) {
  DelegateBlock& copy = arguments_[index].copy;
  ET_CHECK_OR_RETURN_ERROR(
      copy.grow(bytes + kReadBeyond, limit_of_all_), MemoryAllocationFailed,
      "xnnpack: no memory for a copy of argument %zu of %zu bytes; all delegates have %zu bytes, "
      "expected at most %zu",
      index, bytes, delegate_bytes().taken(), limit_of_all_);
  memset(copy.data() + bytes, 0, kReadBeyond);
  return static_cast<void*>(copy.data());
}

Result<void*> Delegate::memory_for(size_t index, const Tensor& output) {
  void* const data = output.mutable_data_ptr();
  if (!executor_->reads(index) || may_be_read_beyond(data, output.nbytes())) {
    return data;
  }
  return copy_memory(index, output.nbytes());
}

Error Delegate::run(Span<EValue*> args, ET_RUNTIME_NAMESPACE::EventTracer* tracer) {
  ET_CHECK_OR_RETURN_ERROR(args.size() == arguments_.size(), InvalidArgument,
                           "xnnpack: %zu arguments, expected %zu", args.size(), arguments_.size());
  const std::unique_lock<std::mutex> guard = workspace_->lock();
  for (size_t i = 0; i < inputs_; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(take_input(i, *ET_UNWRAP(checked(args, i))));
  }
  if (!planned_) {
    const std::vector<Shape> inputs = input_shapes();
    const bool has_empty = std::any_of(inputs.begin(), inputs.end(), is_empty);
    (void)ET_UNWRAP(infer_shapes(payload_, {inputs.data(), inputs.size()},
                                 has_empty ? Emptiness::Allowed : Emptiness::Refused));
    ET_CHECK_OK_OR_RETURN_ERROR(reshape());
  }
  for (size_t i = inputs_; i < args.size(); ++i) {
    const Tensor& output = *ET_UNWRAP(checked(args, i));
    ET_CHECK_OK_OR_RETURN_ERROR(resize_output(i, output));
    data_[i] = ET_UNWRAP(memory_for(i, output));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(executor_->run({data_.data(), data_.size()}, workspace_.get()));
  for (size_t i = inputs_; i < args.size(); ++i) {
    const Tensor& output = args[i]->toTensor();
    if (data_[i] != output.const_data_ptr()) {
      memcpy(output.mutable_data_ptr(), data_[i], output.nbytes());
    }
  }
  if (unsaved_ != nullptr) {
    unsaved_->save();
    unsaved_.reset();
  }
  return is_profiled_ && tracer != nullptr ? executor_->report(*tracer) : Error::Ok;
}

}  // namespace executorch::backends::xnnpack
