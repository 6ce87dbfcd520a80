// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/operator_text.h>

#include <algorithm>

namespace executorch::backends::xnnpack {
namespace {

/// The dtype of the elements, whatever the kind of their quantization parameters.
const char* dtype_name(Datatype datatype) {
  switch (datatype) {
    case Datatype::Float32:
      return "float32";
    case Datatype::Float16:
      return "float16";
    case Datatype::BFloat16:
      return "bfloat16";
    case Datatype::QInt8:
    case Datatype::QCInt8:
    case Datatype::QDInt8:
      return "int8";
    case Datatype::QUInt8:
      return "uint8";
    case Datatype::QCInt4:
    case Datatype::QBInt4:
      return "int4";
    case Datatype::QInt32:
    case Datatype::QCInt32:
    case Datatype::Int32:
      return "int32";
    case Datatype::Bool:
      return "bool";
    default:
      return fb_xnnpack::EnumNameDatatype(datatype);
  }
}

void add_tensor(const TensorRef& tensor, std::string* text) {
  if (!tensor) {
    return;
  }
  *text += text->empty() || text->back() == ' ' ? "" : ", ";
  *text += dtype_name(tensor.value->datatype);
  *text += " [";
  for (size_t d = 0; d < tensor.shape->rank; ++d) {
    *text += (d == 0 ? "" : ", ") + std::to_string(tensor.shape->dims[d]);
  }
  *text += "]";
}

}  // namespace

std::string precision_text(const Node& node, const Graph& graph,
                           kernels::engine::Precision factors) {
  if (factors == kernels::engine::Precision::BFloat16) {
    return "bfloat16";
  }
  const auto datatype = [&](uint32_t id) { return graph.values[id].datatype; };
  const auto* const end = node.operands + node.operand_count;
  // The condition of a selection does not determine the precision.
  const auto* const operand = std::find_if(node.operands, end, [&](uint32_t id) {
    return id != kNoValue && datatype(id) != Datatype::Bool;
  });
  if (operand == end) {
    return dtype_name(datatype(node.result()));
  }
  const std::string from = dtype_name(datatype(*operand));
  if (node.kind == NodeKind::Convert && node.fused == Fused::No) {
    return from + " to " + dtype_name(datatype(node.result()));
  }
  if (datatype(*operand) == Datatype::QDInt8 && node.operand(1) != kNoValue) {
    return from + " by " + dtype_name(datatype(node.operand(1))) + ", quantized at run time";
  }
  return from;
}

std::string values_text(const Node& node, const Tensors& tensors) {
  std::string text;
  std::for_each(tensors.operands, tensors.operands + node.operand_count,
                [&](const TensorRef& tensor) { add_tensor(tensor, &text); });
  add_tensor(tensors.residual, &text);
  text += " -> ";
  std::for_each(tensors.results, tensors.results + node.result_count,
                [&](const TensorRef& tensor) { add_tensor(tensor, &text); });
  return text;
}

}  // namespace executorch::backends::xnnpack
