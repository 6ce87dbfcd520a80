// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/empty_operands.h>

#include <string.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

constexpr char kNaNByte = '\xff';  // These bytes are NaN in float32, float16 and bfloat16.

Shape with_ones(Shape shape) {
  std::replace(shape.dims, shape.dims + shape.rank, uint64_t{0}, uint64_t{1});
  return shape;
}

bool is_over_image(const Node& node) {
  return node.kind == NodeKind::GlobalAvgPooling2d || node.kind == NodeKind::Sum;
}

/// The shape of neutral elements, at most as many as the result has elements. Height and width of
/// an empty image may have any size and are reduced: one point stands for all.
Shape neutral_shape(const Node& node, Shape shape) {
  if (is_over_image(node)) {
    shape.dims[1] = shape.dims[2] = 1;
  }
  return with_ones(shape);
}

char neutral_byte(const Node& node, const Value& value) {
  if (node.kind == NodeKind::GlobalAvgPooling2d) {
    return kNaNByte;
  }
  if (value.datatype == Datatype::Bool) {
    return node.attention.replaces_true ? 0 : 1;  // The neutral score is not replaced.
  }
  return is_byte(value.datatype) ? static_cast<char>(value.zero_point) : 0;
}

}  // namespace

bool NeutralOperands::suit(const Node& node, const Tensors& tensors) {
  const bool is_mean = node.kind == NodeKind::GlobalAvgPooling2d;
  if (!is_over_image(node) && node.kind != NodeKind::BatchMatrixMultiply &&
      node.kind != NodeKind::FullyConnected) {
    return false;
  }
  return std::all_of(
      tensors.operands, tensors.operands + node.operand_count, [&](const TensorRef& tensor) {
        return !tensor || !is_empty(*tensor.shape) || is_float(tensor.value->datatype) ||
               (!is_mean &&
                (is_byte(tensor.value->datatype) || tensor.value->datatype == Datatype::Bool));
      });
}

Error NeutralOperands::replace(const Node& node, size_t limit_of_all, Tensors* tensors) {
  for (size_t i = 0; i < node.operand_count; ++i) {
    TensorRef& tensor = tensors->operands[i];
    if (!tensor || !is_empty(*tensor.shape)) {
      continue;
    }
    Replacement& replacement = operands_[i];
    replacement.shape = neutral_shape(node, *tensor.shape);
    const size_t bytes = bytes_of(tensor.value->datatype, replacement.shape) + kReadBeyond;
    ET_CHECK_OR_RETURN_ERROR(
        replacement.memory.grow(bytes, limit_of_all), MemoryAllocationFailed,
        "xnnpack: cannot allocate %zu bytes for neutral elements; all delegates have %zu bytes, "
        "expected at most %zu",
        bytes, delegate_bytes().taken(), limit_of_all);
    memset(replacement.memory.data(), neutral_byte(node, *tensor.value), bytes);
    tensor.shape = &replacement.shape;
  }
  if (tensors->unfused) {
    unfused_ = with_ones(*tensors->unfused.shape);
    tensors->unfused.shape = &unfused_;
  }
  bind(tensors);
  return Error::Ok;
}

void NeutralOperands::bind(Tensors* tensors) const {
  for (size_t i = 0; i < Node::kMaxOperands; ++i) {
    if (operands_[i].memory.data() != nullptr) {
      tensors->operands[i].data = operands_[i].memory.data();
    }
  }
}

}  // namespace executorch::backends::xnnpack
