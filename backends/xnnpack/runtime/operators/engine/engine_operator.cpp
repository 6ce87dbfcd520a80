// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/memory_plan.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/extension/threadpool/workers.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::FunctionRef;

namespace {

engine::Unary function_of(engine::Activation activation) {
  switch (activation) {
    case engine::Activation::Silu:
      return engine::Unary::Silu;
    case engine::Activation::Hardswish:
      return engine::Unary::Hardswish;
    case engine::Activation::Gelu:
      return engine::Unary::Gelu;
    case engine::Activation::GeluTanh:
      return engine::Unary::GeluTanh;
    case engine::Activation::Sigmoid:
      return engine::Unary::Sigmoid;
    default:
      return engine::Unary::Tanh;
  }
}

}  // namespace

size_t PoolThreads::count() const {
  return pool_ == nullptr ? 1 : extension::threadpool::count_threads(pool_);
}

void PoolThreads::run(size_t tasks, FunctionRef<void(size_t)> task) {
  if (tasks > 1 && pool_ != nullptr) {
    extension::threadpool::run_on_workers(pool_, task, tasks);
    return;
  }
  for (size_t i = 0; i < tasks; ++i) {
    task(i);
  }
}

bool is_float32(const Node& node, const OperatorContext& context) {
  const auto is_float = [&](uint32_t id) {
    return id == kNoValue || context.graph.values[id].datatype == Datatype::Float32;
  };
  return std::all_of(node.operands, node.operands + node.operand_count, is_float) &&
         std::all_of(node.results, node.results + node.result_count, is_float);
}

namespace {

UnpackedWeights unpacked(uint32_t layout, const Value& weights, const Value* bias) {
  return {layout, weights.source_data, bias == nullptr ? nullptr : bias->source_data};
}

}  // namespace

bool PackedFloats::exist(const OperatorContext& context, uint32_t layout, const Value& weights,
                         const Value* bias) {
  return context.weights != nullptr && context.weights->is_packed(unpacked(layout, weights, bias));
}

Error PackedFloats::create(const OperatorContext& context, uint32_t layout, const Value& weights,
                           const Value* bias, size_t bytes, FunctionRef<bool(float*)> pack) {
  if (context.weights != nullptr) {
    data_ = static_cast<const float*>(
        context.weights->pack(unpacked(layout, weights, bias), bytes,
                              [&](void* memory) { return pack(static_cast<float*>(memory)); }));
  } else {
    own_ = PackedBlock::allocate(bytes);
    if (own_ != nullptr && pack(static_cast<float*>(const_cast<void*>(own_->data())))) {
      data_ = static_cast<const float*>(own_->data());
    }
  }
  ET_CHECK_OR_RETURN_ERROR(data_ != nullptr, MemoryAllocationFailed,
                           "xnnpack: no memory for %zu bytes of packed weights; all delegates "
                           "have %zu bytes, expected at most %zu",
                           bytes, delegate_bytes().taken(), max_delegate_bytes());
  return Error::Ok;
}

size_t bytes_of_broadcast_product(const Tensors& tensors, Datatype datatype) {
  if (!tensors.residual) {
    return 0;
  }
  const Shape& result = *tensors.results[0].shape;
  if (are_equal(*tensors.residual.shape, result) && are_equal(*tensors.unfused.shape, result)) {
    return 0;
  }
  return aligned(bytes_of(datatype, *tensors.unfused.shape));
}

void FusedTail::reshape(const Tensors& tensors) {
  scratch_bytes_ = bytes_of_broadcast_product(tensors, Datatype::Float32);
}

float* FusedTail::target(const Tensors& tensors) const {
  return static_cast<float*>(scratch_bytes_ == 0 ? tensors.results[0].data : tensors.scratch);
}

engine::Epilogue FusedTail::epilogue(const Tensors& tensors) const {
  engine::Epilogue epilogue;
  if (scratch_bytes_ == 0) {
    epilogue.residual = static_cast<const float*>(tensors.residual.data);
    epilogue.clamp_min = clamp_.min;
    epilogue.clamp_max = clamp_.max;
    epilogue.activation = activation_;
  }
  return epilogue;
}

void FusedTail::finish(const Tensors& tensors, engine::Threads& threads) const {
  if (scratch_bytes_ == 0) {
    return;
  }
  const Shape& shape = *tensors.results[0].shape;
  size_t sizes[Shape::kMaxRank], left[Shape::kMaxRank], right[Shape::kMaxRank];
  std::copy_n(shape.dims, shape.rank, sizes);
  broadcast_strides(*tensors.unfused.shape, shape, left);
  broadcast_strides(*tensors.residual.shape, shape, right);
  auto* const out = static_cast<float*>(tensors.results[0].data);
  engine::BinaryCall sum;
  sum.function = engine::Binary::Add;
  sum.rank = shape.rank;
  sum.sizes = sizes;
  sum.left_strides = left;
  sum.right_strides = right;
  sum.left = static_cast<const float*>(tensors.scratch);
  sum.right = static_cast<const float*>(tensors.residual.data);
  sum.out = out;
  sum.clamp_min = clamp_.min;
  sum.clamp_max = clamp_.max;
  engine::binary(sum, threads);
  if (activation_ != engine::Activation::None) {
    engine::UnaryCall call;
    call.function = function_of(activation_);
    call.in = call.out = out;
    call.count = static_cast<size_t>(elements(shape));
    engine::unary(call, threads);
  }
}

void broadcast_strides(const Shape& from, const Shape& to, size_t* strides) {
  size_t stride = 1;
  for (size_t i = 1; i <= to.rank; ++i) {
    const uint64_t size = i <= from.rank ? from.dims[from.rank - i] : 1;
    strides[to.rank - i] = size == 1 ? 0 : stride;
    stride *= static_cast<size_t>(size);
  }
}

}  // namespace executorch::backends::xnnpack
