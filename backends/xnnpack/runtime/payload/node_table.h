// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The kinds of nodes (node_kinds.inc), and what each field of their tables holds. Code that treats
// all kinds alike reads nodes by these rows; code for one kind uses flatc's accessors.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <iterator>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>

namespace executorch::backends::xnnpack {

// Bits of a node's flags, with XNNPACK's values.
/// Linear layers: the filter is [inputs, outputs] instead of [outputs, inputs]. Batch products: the
/// second matrix is [columns, depth] instead of [depth, columns].
constexpr uint32_t kTransposeWeights = 1;
/// Convolutions and pools: TensorFlow's padding, which depends on the size of the image.
constexpr uint32_t kSamePadding = 4;

/// The tables of nodes in the schema, by their names.
enum class Layout : uint8_t {
  Node2x1,
  FullyConnected,
  Node1x1,
  StaticTranspose,
  Convolution,
  StaticResizeBilinear2D,
  StaticConstantPad,
  Pooling,
  StaticReshape,
  ArgMaxPooling2d,
  LeakyReLU,
  ELU,
  Concatenate,
  StaticSlice,
  ScaledDotProductAttention,
  Select,
  StaticGather,
};

/// Rules for the datatypes of operands and results.
enum class Datatypes : uint8_t {
  Same,
  /// Those of kConvolutions, kMatrixProducts (datatypes.cpp).
  Convolution,
  MatrixProduct,
  /// The first result is like the operand, the second one has 32 bits.
  MaximaAndPositions,
  /// The first operand is boolean, the others are like the result.
  Selection,
  /// Operands are like each other, the result is boolean.
  Comparison,
  /// Operators decide.
  Any,
};

/// The kind of value in a field of a node.
enum class Role : uint8_t {
  Operand,
  /// An optional operand.
  MaybeOperand,
  Result,
  Number,
  Flags,
  Float,
  Numbers,
};

struct NodeField {
  Layout layout;
  uint8_t vtable_slot;
  Role role;
};

namespace rows {

namespace fb = fb_xnnpack;

// By layout, in the order of the fields.
constexpr NodeField kNodeFields[] = {
    {Layout::Node2x1, fb::Node2x1::VT_INPUT1_ID, Role::Operand},
    {Layout::Node2x1, fb::Node2x1::VT_INPUT2_ID, Role::Operand},
    {Layout::Node2x1, fb::Node2x1::VT_OUTPUT_ID, Role::Result},
    {Layout::Node2x1, fb::Node2x1::VT_FLAGS, Role::Flags},
    {Layout::FullyConnected, fb::FullyConnected::VT_INPUT1_ID, Role::Operand},
    {Layout::FullyConnected, fb::FullyConnected::VT_FILTER_ID, Role::Operand},
    {Layout::FullyConnected, fb::FullyConnected::VT_BIAS_ID, Role::MaybeOperand},
    {Layout::FullyConnected, fb::FullyConnected::VT_OUTPUT_ID, Role::Result},
    {Layout::FullyConnected, fb::FullyConnected::VT_FLAGS, Role::Flags},
    {Layout::Node1x1, fb::Node1x1::VT_INPUT_ID, Role::Operand},
    {Layout::Node1x1, fb::Node1x1::VT_OUTPUT_ID, Role::Result},
    {Layout::Node1x1, fb::Node1x1::VT_FLAGS, Role::Flags},
    {Layout::StaticTranspose, fb::StaticTranspose::VT_NUM_DIMS, Role::Number},
    {Layout::StaticTranspose, fb::StaticTranspose::VT_PERM, Role::Numbers},
    {Layout::StaticTranspose, fb::StaticTranspose::VT_INPUT_ID, Role::Operand},
    {Layout::StaticTranspose, fb::StaticTranspose::VT_OUTPUT_ID, Role::Result},
    {Layout::StaticTranspose, fb::StaticTranspose::VT_FLAGS, Role::Flags},
    {Layout::Convolution, fb::Convolution::VT_PADDING_TOP, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_PADDING_RIGHT, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_PADDING_BOTTOM, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_PADDING_LEFT, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_KERNEL_HEIGHT, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_KERNEL_WIDTH, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_SUBSAMPLING_HEIGHT, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_SUBSAMPLING_WIDTH, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_DILATION_HEIGHT, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_DILATION_WIDTH, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_GROUP_INPUT_CHANNELS, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_GROUP_OUTPUT_CHANNELS, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_GROUPS, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_ADJUSTMENT_HEIGHT, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_ADJUSTMENT_WIDTH, Role::Number},
    {Layout::Convolution, fb::Convolution::VT_INPUT1_ID, Role::Operand},
    {Layout::Convolution, fb::Convolution::VT_FILTER_ID, Role::Operand},
    {Layout::Convolution, fb::Convolution::VT_BIAS_ID, Role::MaybeOperand},
    {Layout::Convolution, fb::Convolution::VT_OUTPUT_ID, Role::Result},
    {Layout::Convolution, fb::Convolution::VT_FLAGS, Role::Flags},
    {Layout::StaticResizeBilinear2D, fb::StaticResizeBilinear2D::VT_NEW_HEIGHT, Role::Number},
    {Layout::StaticResizeBilinear2D, fb::StaticResizeBilinear2D::VT_NEW_WIDTH, Role::Number},
    {Layout::StaticResizeBilinear2D, fb::StaticResizeBilinear2D::VT_INPUT_ID, Role::Operand},
    {Layout::StaticResizeBilinear2D, fb::StaticResizeBilinear2D::VT_OUTPUT_ID, Role::Result},
    {Layout::StaticResizeBilinear2D, fb::StaticResizeBilinear2D::VT_FLAGS, Role::Flags},
    {Layout::StaticConstantPad, fb::StaticConstantPad::VT_PRE_PADDINGS, Role::Numbers},
    {Layout::StaticConstantPad, fb::StaticConstantPad::VT_POST_PADDINGS, Role::Numbers},
    {Layout::StaticConstantPad, fb::StaticConstantPad::VT_PADDING_VALUE, Role::Float},
    {Layout::StaticConstantPad, fb::StaticConstantPad::VT_INPUT_ID, Role::Operand},
    {Layout::StaticConstantPad, fb::StaticConstantPad::VT_OUTPUT_ID, Role::Result},
    {Layout::StaticConstantPad, fb::StaticConstantPad::VT_FLAGS, Role::Flags},
    {Layout::Pooling, fb::Pooling::VT_PADDING_TOP, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_PADDING_RIGHT, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_PADDING_BOTTOM, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_PADDING_LEFT, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_POOLING_HEIGHT, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_POOLING_WIDTH, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_STRIDE_HEIGHT, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_STRIDE_WIDTH, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_DILATION_HEIGHT, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_DILATION_WIDTH, Role::Number},
    {Layout::Pooling, fb::Pooling::VT_INPUT_ID, Role::Operand},
    {Layout::Pooling, fb::Pooling::VT_OUTPUT_ID, Role::Result},
    {Layout::Pooling, fb::Pooling::VT_FLAGS, Role::Flags},
    {Layout::StaticReshape, fb::StaticReshape::VT_NUM_DIMS, Role::Number},
    {Layout::StaticReshape, fb::StaticReshape::VT_NEW_SHAPE, Role::Numbers},
    {Layout::StaticReshape, fb::StaticReshape::VT_INPUT_ID, Role::Operand},
    {Layout::StaticReshape, fb::StaticReshape::VT_OUTPUT_ID, Role::Result},
    {Layout::StaticReshape, fb::StaticReshape::VT_FLAGS, Role::Flags},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_PADDING_TOP, Role::Number},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_PADDING_RIGHT, Role::Number},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_PADDING_BOTTOM, Role::Number},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_PADDING_LEFT, Role::Number},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_POOLING_HEIGHT, Role::Number},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_POOLING_WIDTH, Role::Number},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_INPUT_ID, Role::Operand},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_OUTPUT_VALUE_ID, Role::Result},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_OUTPUT_INDEX_ID, Role::Result},
    {Layout::ArgMaxPooling2d, fb::ArgMaxPooling2d::VT_FLAGS, Role::Flags},
    {Layout::LeakyReLU, fb::LeakyReLU::VT_NEGATIVE_SLOPE, Role::Float},
    {Layout::LeakyReLU, fb::LeakyReLU::VT_INPUT_ID, Role::Operand},
    {Layout::LeakyReLU, fb::LeakyReLU::VT_OUTPUT_ID, Role::Result},
    {Layout::LeakyReLU, fb::LeakyReLU::VT_FLAGS, Role::Flags},
    {Layout::ELU, fb::ELU::VT_ALPHA, Role::Float},
    {Layout::ELU, fb::ELU::VT_INPUT_ID, Role::Operand},
    {Layout::ELU, fb::ELU::VT_OUTPUT_ID, Role::Result},
    {Layout::ELU, fb::ELU::VT_FLAGS, Role::Flags},
    {Layout::Concatenate, fb::Concatenate::VT_AXIS, Role::Number},
    {Layout::Concatenate, fb::Concatenate::VT_INPUT1_ID, Role::Operand},
    {Layout::Concatenate, fb::Concatenate::VT_INPUT2_ID, Role::Operand},
    {Layout::Concatenate, fb::Concatenate::VT_INPUT3_ID, Role::MaybeOperand},
    {Layout::Concatenate, fb::Concatenate::VT_INPUT4_ID, Role::MaybeOperand},
    {Layout::Concatenate, fb::Concatenate::VT_OUTPUT_ID, Role::Result},
    {Layout::Concatenate, fb::Concatenate::VT_FLAGS, Role::Flags},
    {Layout::Concatenate, fb::Concatenate::VT_INPUT5_ID, Role::MaybeOperand},
    {Layout::StaticSlice, fb::StaticSlice::VT_NUM_DIMS, Role::Number},
    {Layout::StaticSlice, fb::StaticSlice::VT_OFFSETS, Role::Numbers},
    {Layout::StaticSlice, fb::StaticSlice::VT_SIZES, Role::Numbers},
    {Layout::StaticSlice, fb::StaticSlice::VT_INPUT_ID, Role::Operand},
    {Layout::StaticSlice, fb::StaticSlice::VT_OUTPUT_ID, Role::Result},
    {Layout::StaticSlice, fb::StaticSlice::VT_FLAGS, Role::Flags},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_QUERY_ID, Role::Operand},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_KEY_ID, Role::Operand},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_VALUE_ID, Role::Operand},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_SCALE_ID, Role::Operand},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_MASK_ID,
     Role::MaybeOperand},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_OUTPUT_ID, Role::Result},
    {Layout::ScaledDotProductAttention, fb::ScaledDotProductAttention::VT_FLAGS, Role::Flags},
    {Layout::Select, fb::Select::VT_CONDITION_ID, Role::Operand},
    {Layout::Select, fb::Select::VT_INPUT1_ID, Role::Operand},
    {Layout::Select, fb::Select::VT_INPUT2_ID, Role::Operand},
    {Layout::Select, fb::Select::VT_OUTPUT_ID, Role::Result},
    {Layout::Select, fb::Select::VT_FLAGS, Role::Flags},
    {Layout::StaticGather, fb::StaticGather::VT_AXIS, Role::Number},
    {Layout::StaticGather, fb::StaticGather::VT_INDICES, Role::Numbers},
    {Layout::StaticGather, fb::StaticGather::VT_INPUT_ID, Role::Operand},
    {Layout::StaticGather, fb::StaticGather::VT_OUTPUT_ID, Role::Result},
    {Layout::StaticGather, fb::StaticGather::VT_FLAGS, Role::Flags},
};

struct NodeRow {
  fb::XNodeUnion kind;
  Layout layout;
  Datatypes datatypes;
};

// In the order of the node union's members.
constexpr NodeRow kNodes[] = {
#define NODE(kind, layout, shape, create, datatypes) \
  {fb::XNodeUnion::kind, Layout::layout, Datatypes::datatypes},
#include <executorch/backends/xnnpack/runtime/payload/node_kinds.inc>
#undef NODE
};

constexpr bool are_in_order() {
  for (size_t i = 0; i < std::size(kNodes); ++i) {
    if (static_cast<size_t>(kNodes[i].kind) != i + 1) {
      return false;
    }
  }
  return std::size(kNodes) == static_cast<size_t>(fb::XNodeUnion::MAX);
}
static_assert(are_in_order());

}  // namespace rows

/// The row of a verified node.
inline const rows::NodeRow& row_of(const fb_xnnpack::XNode& node) {
  const auto kind = static_cast<size_t>(node.xnode_union_type());
  // A verified node has a kind, which the compiler cannot know.
  return rows::kNodes[kind == 0 ? 0 : kind - 1];
}

/// The number of operands that a concatenation joins; 0 for other kinds.
constexpr size_t concatenated(fb_xnnpack::XNodeUnion kind) {
  switch (kind) {
    case fb_xnnpack::XNodeUnion::Concatenate2:
      return 2;
    case fb_xnnpack::XNodeUnion::Concatenate3:
      return 3;
    case fb_xnnpack::XNodeUnion::Concatenate4:
      return 4;
    case fb_xnnpack::XNodeUnion::Concatenate5:
      return 5;
    default:
      return 0;
  }
}

/// True for nodes whose results have only elements of their operands, or a number between them.
constexpr bool only_moves(fb_xnnpack::XNodeUnion kind) {
  switch (kind) {
    case fb_xnnpack::XNodeUnion::StaticTranspose:
    case fb_xnnpack::XNodeUnion::StaticConstantPad:
    case fb_xnnpack::XNodeUnion::StaticReshape:
    case fb_xnnpack::XNodeUnion::StaticSlice:
    case fb_xnnpack::XNodeUnion::StaticGather:
    case fb_xnnpack::XNodeUnion::Copy:
      return true;
    default:
      return concatenated(kind) != 0;
  }
}

inline Layout layout_of(const fb_xnnpack::XNode& node) { return row_of(node).layout; }

/// Calls visit(row, number or id) for each field of a verified node that holds one.
template <typename Visit>
void visit_numbers(const fb_xnnpack::XNode& node, const Visit& visit) {
  const auto* table = static_cast<const flatbuffers::Table*>(node.xnode_union());
  for (const NodeField& row : rows::kNodeFields) {
    if (row.layout == layout_of(node) && row.role != Role::Float && row.role != Role::Numbers) {
      visit(row, table->GetField<uint32_t>(row.vtable_slot, 0));
    }
  }
}

}  // namespace executorch::backends::xnnpack
