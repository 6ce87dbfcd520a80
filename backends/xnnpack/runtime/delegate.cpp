// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/delegate.h>

#include <inttypes.h>
#include <string.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph_builder.h>
#include <executorch/backends/xnnpack/runtime/operator_times.h>
#include <executorch/backends/xnnpack/runtime/shape_inference.h>
#include <executorch/backends/xnnpack/runtime/status.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch::backends::xnnpack {

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

namespace {

// The smallest page there is.
constexpr uintptr_t kPage = 4096;

/// XNNPACK reads up to XNN_EXTRA_BYTES behind an operand's end. Within the page of its last byte
/// that is harmless, beyond it there may be nothing.
bool may_be_read_beyond(const void* data, size_t size) {
  const auto last = reinterpret_cast<uintptr_t>(data) + (size == 0 ? 0 : size - 1);
  return last / kPage == (last + XNN_EXTRA_BYTES) / kPage;
}

/// The dtype of an argument that holds a value of this datatype.
Result<ScalarType> dtype_of(const fb_xnnpack::TensorValue& value) {
  switch (value.datatype()) {
    case 1:  // fp32
      return ScalarType::Float;
    case 2:  // fp16
      return ScalarType::Half;
    case 3:  // qint8
      return ScalarType::Char;
    case 4:  // quint8
      return ScalarType::Byte;
    case 5:   // qint32
    case 12:  // int32
      return ScalarType::Int;
    default:
      ET_LOG(Error, "xnnpack: argument %" PRIu32 " has datatype %d", value.external_id(),
             value.datatype());
      return Error::NotSupported;
  }
}

}  // namespace

Result<std::unique_ptr<Delegate>> Delegate::create(const Payload& payload,
                                                   DelegateSurroundings surroundings) {
  std::unique_ptr<Delegate> delegate(new Delegate(payload));
  delegate->threads_ = std::move(surroundings.threads);
  delegate->is_profiled_ = surroundings.is_profiled;
  delegate->workspace_ =
      ET_UNWRAP(workspace_for(surroundings.settings.sharing, surroundings.workspace_user));
  delegate->inputs_ = runtime::internal::count(payload.graph->input_ids());
  const std::vector<const fb_xnnpack::XValue*> values = values_by_id(*payload.graph);
  for (const auto* ids : {payload.graph->input_ids(), payload.graph->output_ids()}) {
    for (uint32_t i = 0; i < runtime::internal::count(ids); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(delegate->add_argument(tensor_of(*values[ids->Get(i)])));
    }
  }
  const std::vector<Shape> shapes = delegate->input_shapes();
  (void)ET_UNWRAP(infer_shapes(payload, {shapes.data(), shapes.size()}));
  ET_CHECK_OK_OR_RETURN_ERROR(delegate->create_runtime(surroundings));
  ET_CHECK_OK_OR_RETURN_ERROR(delegate->reshape_to_declared());
  return delegate;
}

Error Delegate::create_runtime(const DelegateSurroundings& surroundings) {
  const bool is_cached = surroundings.settings.caches_weights;
  const std::vector<bool> packed = packed_constants(payload_);
  constants_ = ET_UNWRAP(Constants::load(payload_, surroundings.names));
  if (is_cached && !surroundings.settings.cache_path.empty()) {
    unsaved_ = PackedFile::at(surroundings.settings.cache_path);
  }
  const Subgraph graph = ET_UNWRAP(build_graph(payload_, constants_));
  std::unique_lock<std::mutex> creation;
  if (is_cached) {
    creation = PackedWeights::of_process().lock_creation();
    ConstantDigests digests(payload_, constants_, unsaved_);
    weights_ = std::make_unique<WeightsSession>(
        WeightKeys(payload_, constants_, std::move(digests)), unsaved_, size_of(payload_, packed));
  }
  xnn_runtime_t created = nullptr;
  xnn_status status = xnn_status_success;
  {
    const std::unique_lock<std::mutex> held = workspace_->lock();
    status = xnn_create_runtime_v4(graph.get(), is_cached ? weights_->provider() : nullptr,
                                   workspace_->get(), threads_.get(),
                                   is_profiled_ ? XNN_FLAG_BASIC_PROFILING : 0, &created);
  }
  if (status != xnn_status_success) {
    ET_LOG(Error, "xnnpack: the graph cannot be run: %s", status_text(status));
    return status_error(status);
  }
  runtime_.reset(created);
  if (is_cached) {
    weights_->finish();
  }
  // Times are of XNNPACK's operators.
  if (!is_profiled_) {
    planes_ = PlaneConvolution::of(payload_, constants_);
  }
  constants_.free(packed);
  return Error::Ok;
}

Delegate::~Delegate() {
  if (runtime_ != nullptr) {
    const std::unique_lock<std::mutex> held = workspace_->lock();
    runtime_.reset();
  }
  if (unsaved_ != nullptr) {
    unsaved_->save();
  }
}

Error Delegate::reshape_to_declared() {
  const std::unique_lock<std::mutex> held = workspace_->lock();
  return reshape();
}

Error Delegate::reshape() {
  planned_ = false;
  xnn_status status = xnn_status_success;
  for (size_t i = 0; i < inputs_ && status == xnn_status_success; ++i) {
    status = xnn_reshape_external_value(runtime_.get(), values_[i].id, arguments_[i].rank,
                                        arguments_[i].dims);
  }
  status = status == xnn_status_success ? workspace_->reshape(runtime_.get()) : status;
  planned_ = status == xnn_status_success;
  if (!planned_) {
    ET_LOG(Error, "xnnpack: inputs of these sizes cannot be run: %s", status_text(status));
    return Error::InvalidArgument;
  }
  return Error::Ok;
}

Error Delegate::add_argument(const fb_xnnpack::TensorValue& tensor) {
  const Shape declared = declared_shape(tensor);
  Argument argument{ET_UNWRAP(dtype_of(tensor)), declared.rank, {}, {}};
  std::copy_n(declared.dims, declared.rank, argument.dims);
  arguments_.push_back(std::move(argument));
  values_.push_back({tensor.external_id(), nullptr});
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
                           "xnnpack: argument %zu is no tensor", index);
  const Tensor& tensor = args[index]->toTensor();
  const Argument& expected = arguments_[index];
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == expected.dtype, InvalidArgument,
                           "xnnpack: argument %zu has dtype %d, expected %d", index,
                           static_cast<int>(tensor.scalar_type()),
                           static_cast<int>(expected.dtype));
  ET_CHECK_OR_RETURN_ERROR(static_cast<size_t>(tensor.dim()) == expected.rank, InvalidArgument,
                           "xnnpack: argument %zu has %zd dimensions, expected %zu", index,
                           static_cast<ssize_t>(tensor.dim()), expected.rank);
  return &tensor;
}

Error Delegate::take_input(size_t index, const Tensor& tensor, bool* resized) {
  Argument& argument = arguments_[index];
  DimOrderType order[XNN_MAX_TENSOR_DIMS];
  ET_CHECK_OK_OR_RETURN_ERROR(ET_RUNTIME_NAMESPACE::get_dim_order(tensor, order, argument.rank));
  for (size_t d = 0; d < argument.rank; ++d) {
    const auto size = static_cast<size_t>(tensor.size(order[d]));
    *resized = *resized || argument.dims[d] != size;
    argument.dims[d] = size;
  }
  void* data = tensor.mutable_data_ptr();
  const size_t bytes = tensor.nbytes();
  if (!may_be_read_beyond(data, bytes)) {
    argument.copy.resize(bytes + XNN_EXTRA_BYTES);
    memcpy(argument.copy.data(), data, bytes);
    data = argument.copy.data();
  }
  ready_ = ready_ && values_[index].data == data;
  values_[index].data = data;
  return Error::Ok;
}

namespace {

/// @param dims Sizes from outermost to innermost in memory.
template <typename Size>
Error resize(const Tensor& tensor, const Size* dims, size_t rank) {
  DimOrderType order[XNN_MAX_TENSOR_DIMS];
  ET_CHECK_OK_OR_RETURN_ERROR(ET_RUNTIME_NAMESPACE::get_dim_order(tensor, order, rank));
  SizesType sizes[XNN_MAX_TENSOR_DIMS];
  for (size_t d = 0; d < rank; ++d) {
    sizes[order[d]] = static_cast<SizesType>(dims[d]);
  }
  return ET_RUNTIME_NAMESPACE::resize_tensor(tensor,
                                             executorch::aten::ArrayRef<SizesType>(sizes, rank));
}

bool is_empty(const Shape& shape) {
  return std::find(shape.dims, shape.dims + shape.rank, 0u) != shape.dims + shape.rank;
}

}  // namespace

Error Delegate::resize_output(size_t index, const Tensor& tensor) {
  const Argument& argument = arguments_[index];
  size_t rank = 0;
  size_t dims[XNN_MAX_TENSOR_DIMS];
  const xnn_status status =
      xnn_get_external_value_shape(runtime_.get(), values_[index].id, &rank, dims);
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success && rank == argument.rank, Internal,
                           "xnnpack: argument %zu has no shape: %s", index, status_text(status));
  return resize(tensor, dims, rank);
}

Error Delegate::resize_for_nothing(Span<EValue*> args, const std::vector<Shape>& inputs) {
  const std::vector<Shape> outputs =
      ET_UNWRAP(infer_shapes(payload_, {inputs.data(), inputs.size()}, Emptiness::Allowed));
  for (size_t i = 0; i < outputs.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(is_empty(outputs[i]), NotSupported,
                             "xnnpack: output %zu has elements although an input is empty: the "
                             "operators that make it must not be delegated",
                             i);
    const Tensor& output = *ET_UNWRAP(checked(args, inputs_ + i));
    ET_CHECK_OK_OR_RETURN_ERROR(resize(output, outputs[i].dims, outputs[i].rank));
  }
  return Error::Ok;
}

xnn_status Delegate::invoke() {
  if (!runs_planes()) {
    return xnn_invoke_runtime(runtime_.get());
  }
  return planes_->run(static_cast<const float*>(values_[0].data), arguments_[0].dims,
                      static_cast<float*>(values_[1].data), threads_.get());
}

Error Delegate::run(Span<EValue*> args, ET_RUNTIME_NAMESPACE::EventTracer* tracer) {
  ET_CHECK_OR_RETURN_ERROR(args.size() == arguments_.size(), InvalidArgument,
                           "xnnpack: %zu arguments, expected %zu", args.size(), arguments_.size());
  const std::unique_lock<std::mutex> held = workspace_->lock();
  bool resized = !planned_;
  for (size_t i = 0; i < inputs_; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(take_input(i, *ET_UNWRAP(checked(args, i)), &resized));
  }
  if (resized) {
    planned_ = ready_ = false;
    const std::vector<Shape> inputs = input_shapes();
    if (std::any_of(inputs.begin(), inputs.end(), is_empty)) {
      return resize_for_nothing(args, inputs);
    }
    (void)ET_UNWRAP(infer_shapes(payload_, {inputs.data(), inputs.size()}));
    ET_CHECK_OK_OR_RETURN_ERROR(reshape());
  }
  for (size_t i = inputs_; i < args.size(); ++i) {
    const Tensor& output = *ET_UNWRAP(checked(args, i));
    ET_CHECK_OK_OR_RETURN_ERROR(resize_output(i, output));
    ready_ = ready_ && values_[i].data == output.mutable_data_ptr();
    values_[i].data = output.mutable_data_ptr();
  }
  xnn_status status = xnn_status_success;
  if (!ready_ && !runs_planes()) {
    status = xnn_setup_runtime_v2(runtime_.get(), values_.size(), values_.data());
  }
  const et_timestamp_t begin = is_profiled_ ? runtime::pal_current_ticks() : 0;
  status = status == xnn_status_success ? invoke() : status;
  ready_ = status == xnn_status_success;
  if (!ready_) {
    ET_LOG(Error, "xnnpack: running failed: %s", status_text(status));
    return status_error(status);
  }
  if (unsaved_ != nullptr) {
    unsaved_->save();
    unsaved_.reset();
  }
  return is_profiled_ && tracer != nullptr
             ? times_.report(runtime_.get(), *payload_.graph, begin, *tracer)
             : Error::Ok;
}

}  // namespace executorch::backends::xnnpack
