// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/operator_table.h>

#include <iterator>
#include <string>

#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

struct OperatorRow {
  NodeKind kind;
  CreateOperator create;
};

// In the order of the node union's members.
constexpr OperatorRow kOperators[] = {
    {NodeKind::Add, create_binary},
    {NodeKind::FullyConnected, create_linear},
    {NodeKind::Softmax, create_softmax},
    {NodeKind::Sigmoid, create_unary},
    {NodeKind::StaticTranspose, create_transpose},
    {NodeKind::Clamp, create_unary},
    {NodeKind::Conv2d, create_convolution},
    {NodeKind::Div, create_binary},
    {NodeKind::StaticResizeBilinear2D, create_resize},
    {NodeKind::StaticConstantPad, create_pad},
    {NodeKind::AvgPooling2d, create_pooling},
    {NodeKind::Minimum, create_binary},
    {NodeKind::DepthwiseConv2d, create_convolution},
    {NodeKind::MaxPooling2d, create_pooling},
    {NodeKind::Multiply, create_binary},
    {NodeKind::Subtract, create_binary},
    {NodeKind::Floor, create_unary},
    {NodeKind::Convert, create_xnn_convert},
    {NodeKind::GlobalAvgPooling2d, create_reduction},
    {NodeKind::StaticReshape, create_copy},
    {NodeKind::ArgMaxPooling2d, create_xnn_pooling},
    {NodeKind::SquareRoot, create_unary},
    {NodeKind::Ceiling, create_unary},
    {NodeKind::Hardswish, create_unary},
    {NodeKind::LeakyReLU, create_unary},
    {NodeKind::Maximum, create_binary},
    {NodeKind::Negate, create_unary},
    {NodeKind::Square, create_unary},
    {NodeKind::ELU, create_unary},
    {NodeKind::Abs, create_unary},
    {NodeKind::PReLU, create_binary},
    {NodeKind::Concatenate2, create_concatenate},
    {NodeKind::Concatenate3, create_concatenate},
    {NodeKind::Concatenate4, create_concatenate},
    {NodeKind::StaticSlice, create_slice},
    {NodeKind::ScaledDotProductAttention, create_xnn_attention},
    {NodeKind::BatchMatrixMultiply, create_batch_matmul},
    {NodeKind::Concatenate5, create_concatenate},
    {NodeKind::ConvTranspose2d, create_convolution},
    {NodeKind::ReciprocalSquareRoot, create_unary},
    {NodeKind::Log, create_unary},
    {NodeKind::Gelu, create_unary},
    {NodeKind::Tanh, create_unary},
    {NodeKind::Exp, create_unary},
    {NodeKind::Sin, create_unary},
    {NodeKind::Copy, create_copy},
    {NodeKind::Cos, create_unary},
    {NodeKind::BankersRounding, create_unary},
    {NodeKind::Sign, create_unary},
    {NodeKind::CopySign, create_binary},
    {NodeKind::Sum, create_reduction},
};
static_assert(std::size(kOperators) == static_cast<size_t>(NodeKind::MAX));

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kOperators); ++i) {
    if (static_cast<size_t>(kOperators[i].kind) != i + 1) {
      return false;
    }
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

namespace {

/// The datatypes of a node's operands, by name.
std::string operand_datatypes(const Node& node, const OperatorContext& context) {
  std::string names;
  for (size_t i = 0; i < node.operand_count; ++i) {
    if (node.operands[i] != kNoValue) {
      names += names.empty() ? "" : ", ";
      names += fb_xnnpack::EnumNameDatatype(context.graph.values[node.operands[i]].datatype);
    }
  }
  return names;
}

const char* result_datatype(const Node& node, const OperatorContext& context) {
  return fb_xnnpack::EnumNameDatatype(context.graph.values[node.result()].datatype);
}

}  // namespace

Error refuse_datatypes(const Node& node, const OperatorContext& context) {
  ET_LOG(Error, "xnnpack: no operator runs node %s on %s to %s",
         fb_xnnpack::EnumNameXNodeUnion(node.kind), operand_datatypes(node, context).c_str(),
         result_datatype(node, context));
  return Error::InvalidProgram;
}

Error refuse_without_xnnpack(const Node& node, const OperatorContext& context) {
  ET_LOG(Error,
         "xnnpack: node %s on %s to %s needs XNNPACK, which this runtime was built without "
         "(EXECUTORCH_XNNPACK_LIBRARY=NONE)",
         fb_xnnpack::EnumNameXNodeUnion(node.kind), operand_datatypes(node, context).c_str(),
         result_datatype(node, context));
  return Error::NotSupported;
}

OperatorResult create_operator(const Node& node, const OperatorContext& context) {
  if (node.fused != Fused::No) {
    return create_fused(node, context);
  }
  return kOperators[static_cast<size_t>(node.kind) - 1].create(node, context);
}

bool has_epilogue(const Node& node, const OperatorContext& context) {
  return node.fused == Fused::No &&
         (is_engine_convolution(node, context) || is_engine_linear(node, context));
}

}  // namespace executorch::backends::xnnpack
