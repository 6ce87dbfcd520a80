// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The nodes of a payload as rows: what each field of each layout is. What asks the same of every
// kind of node reads them by these rows; whoever defines nodes reads them by flatc's accessors.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>

namespace executorch::backends::xnnpack {

enum Layout : uint8_t {
  kNode2x1,
  kFullyConnected,
  kNode1x1,
  kStaticTranspose,
  kConvolution,
  kResizeBilinear,
  kConstantPad,
  kPooling,
  kStaticReshape,
  kArgMaxPooling,
  kLeakyRelu,
  kElu,
  kConcatenate,
  kStaticSlice,
  kAttention,
};

/// What a field of a node holds.
enum class Role : uint8_t {
  Operand,
  /// An operand that may be left out.
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
    {kNode2x1, fb::Node2x1::VT_INPUT1_ID, Role::Operand},
    {kNode2x1, fb::Node2x1::VT_INPUT2_ID, Role::Operand},
    {kNode2x1, fb::Node2x1::VT_OUTPUT_ID, Role::Result},
    {kNode2x1, fb::Node2x1::VT_FLAGS, Role::Flags},
    {kFullyConnected, fb::FullyConnected::VT_INPUT1_ID, Role::Operand},
    {kFullyConnected, fb::FullyConnected::VT_FILTER_ID, Role::Operand},
    {kFullyConnected, fb::FullyConnected::VT_BIAS_ID, Role::MaybeOperand},
    {kFullyConnected, fb::FullyConnected::VT_OUTPUT_ID, Role::Result},
    {kFullyConnected, fb::FullyConnected::VT_FLAGS, Role::Flags},
    {kNode1x1, fb::Node1x1::VT_INPUT_ID, Role::Operand},
    {kNode1x1, fb::Node1x1::VT_OUTPUT_ID, Role::Result},
    {kNode1x1, fb::Node1x1::VT_FLAGS, Role::Flags},
    {kStaticTranspose, fb::StaticTranspose::VT_NUM_DIMS, Role::Number},
    {kStaticTranspose, fb::StaticTranspose::VT_PERM, Role::Numbers},
    {kStaticTranspose, fb::StaticTranspose::VT_INPUT_ID, Role::Operand},
    {kStaticTranspose, fb::StaticTranspose::VT_OUTPUT_ID, Role::Result},
    {kStaticTranspose, fb::StaticTranspose::VT_FLAGS, Role::Flags},
    {kConvolution, fb::Convolution::VT_PADDING_TOP, Role::Number},
    {kConvolution, fb::Convolution::VT_PADDING_RIGHT, Role::Number},
    {kConvolution, fb::Convolution::VT_PADDING_BOTTOM, Role::Number},
    {kConvolution, fb::Convolution::VT_PADDING_LEFT, Role::Number},
    {kConvolution, fb::Convolution::VT_KERNEL_HEIGHT, Role::Number},
    {kConvolution, fb::Convolution::VT_KERNEL_WIDTH, Role::Number},
    {kConvolution, fb::Convolution::VT_SUBSAMPLING_HEIGHT, Role::Number},
    {kConvolution, fb::Convolution::VT_SUBSAMPLING_WIDTH, Role::Number},
    {kConvolution, fb::Convolution::VT_DILATION_HEIGHT, Role::Number},
    {kConvolution, fb::Convolution::VT_DILATION_WIDTH, Role::Number},
    {kConvolution, fb::Convolution::VT_GROUP_INPUT_CHANNELS, Role::Number},
    {kConvolution, fb::Convolution::VT_GROUP_OUTPUT_CHANNELS, Role::Number},
    {kConvolution, fb::Convolution::VT_GROUPS, Role::Number},
    {kConvolution, fb::Convolution::VT_ADJUSTMENT_HEIGHT, Role::Number},
    {kConvolution, fb::Convolution::VT_ADJUSTMENT_WIDTH, Role::Number},
    {kConvolution, fb::Convolution::VT_INPUT1_ID, Role::Operand},
    {kConvolution, fb::Convolution::VT_FILTER_ID, Role::Operand},
    {kConvolution, fb::Convolution::VT_BIAS_ID, Role::MaybeOperand},
    {kConvolution, fb::Convolution::VT_OUTPUT_ID, Role::Result},
    {kConvolution, fb::Convolution::VT_FLAGS, Role::Flags},
    {kResizeBilinear, fb::StaticResizeBilinear2D::VT_NEW_HEIGHT, Role::Number},
    {kResizeBilinear, fb::StaticResizeBilinear2D::VT_NEW_WIDTH, Role::Number},
    {kResizeBilinear, fb::StaticResizeBilinear2D::VT_INPUT_ID, Role::Operand},
    {kResizeBilinear, fb::StaticResizeBilinear2D::VT_OUTPUT_ID, Role::Result},
    {kResizeBilinear, fb::StaticResizeBilinear2D::VT_FLAGS, Role::Flags},
    {kConstantPad, fb::StaticConstantPad::VT_PRE_PADDINGS, Role::Numbers},
    {kConstantPad, fb::StaticConstantPad::VT_POST_PADDINGS, Role::Numbers},
    {kConstantPad, fb::StaticConstantPad::VT_PADDING_VALUE, Role::Float},
    {kConstantPad, fb::StaticConstantPad::VT_INPUT_ID, Role::Operand},
    {kConstantPad, fb::StaticConstantPad::VT_OUTPUT_ID, Role::Result},
    {kConstantPad, fb::StaticConstantPad::VT_FLAGS, Role::Flags},
    {kPooling, fb::Pooling::VT_PADDING_TOP, Role::Number},
    {kPooling, fb::Pooling::VT_PADDING_RIGHT, Role::Number},
    {kPooling, fb::Pooling::VT_PADDING_BOTTOM, Role::Number},
    {kPooling, fb::Pooling::VT_PADDING_LEFT, Role::Number},
    {kPooling, fb::Pooling::VT_POOLING_HEIGHT, Role::Number},
    {kPooling, fb::Pooling::VT_POOLING_WIDTH, Role::Number},
    {kPooling, fb::Pooling::VT_STRIDE_HEIGHT, Role::Number},
    {kPooling, fb::Pooling::VT_STRIDE_WIDTH, Role::Number},
    {kPooling, fb::Pooling::VT_DILATION_HEIGHT, Role::Number},
    {kPooling, fb::Pooling::VT_DILATION_WIDTH, Role::Number},
    {kPooling, fb::Pooling::VT_INPUT_ID, Role::Operand},
    {kPooling, fb::Pooling::VT_OUTPUT_ID, Role::Result},
    {kPooling, fb::Pooling::VT_FLAGS, Role::Flags},
    {kStaticReshape, fb::StaticReshape::VT_NUM_DIMS, Role::Number},
    {kStaticReshape, fb::StaticReshape::VT_NEW_SHAPE, Role::Numbers},
    {kStaticReshape, fb::StaticReshape::VT_INPUT_ID, Role::Operand},
    {kStaticReshape, fb::StaticReshape::VT_OUTPUT_ID, Role::Result},
    {kStaticReshape, fb::StaticReshape::VT_FLAGS, Role::Flags},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_PADDING_TOP, Role::Number},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_PADDING_RIGHT, Role::Number},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_PADDING_BOTTOM, Role::Number},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_PADDING_LEFT, Role::Number},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_POOLING_HEIGHT, Role::Number},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_POOLING_WIDTH, Role::Number},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_INPUT_ID, Role::Operand},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_OUTPUT_VALUE_ID, Role::Result},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_OUTPUT_INDEX_ID, Role::Result},
    {kArgMaxPooling, fb::ArgMaxPooling2d::VT_FLAGS, Role::Flags},
    {kLeakyRelu, fb::LeakyReLU::VT_NEGATIVE_SLOPE, Role::Float},
    {kLeakyRelu, fb::LeakyReLU::VT_INPUT_ID, Role::Operand},
    {kLeakyRelu, fb::LeakyReLU::VT_OUTPUT_ID, Role::Result},
    {kLeakyRelu, fb::LeakyReLU::VT_FLAGS, Role::Flags},
    {kElu, fb::ELU::VT_ALPHA, Role::Float},
    {kElu, fb::ELU::VT_INPUT_ID, Role::Operand},
    {kElu, fb::ELU::VT_OUTPUT_ID, Role::Result},
    {kElu, fb::ELU::VT_FLAGS, Role::Flags},
    {kConcatenate, fb::Concatenate::VT_AXIS, Role::Number},
    {kConcatenate, fb::Concatenate::VT_INPUT1_ID, Role::Operand},
    {kConcatenate, fb::Concatenate::VT_INPUT2_ID, Role::Operand},
    {kConcatenate, fb::Concatenate::VT_INPUT3_ID, Role::MaybeOperand},
    {kConcatenate, fb::Concatenate::VT_INPUT4_ID, Role::MaybeOperand},
    {kConcatenate, fb::Concatenate::VT_OUTPUT_ID, Role::Result},
    {kConcatenate, fb::Concatenate::VT_FLAGS, Role::Flags},
    {kConcatenate, fb::Concatenate::VT_INPUT5_ID, Role::MaybeOperand},
    {kStaticSlice, fb::StaticSlice::VT_NUM_DIMS, Role::Number},
    {kStaticSlice, fb::StaticSlice::VT_OFFSETS, Role::Numbers},
    {kStaticSlice, fb::StaticSlice::VT_SIZES, Role::Numbers},
    {kStaticSlice, fb::StaticSlice::VT_INPUT_ID, Role::Operand},
    {kStaticSlice, fb::StaticSlice::VT_OUTPUT_ID, Role::Result},
    {kStaticSlice, fb::StaticSlice::VT_FLAGS, Role::Flags},
    {kAttention, fb::ScaledDotProductAttention::VT_QUERY_ID, Role::Operand},
    {kAttention, fb::ScaledDotProductAttention::VT_KEY_ID, Role::Operand},
    {kAttention, fb::ScaledDotProductAttention::VT_VALUE_ID, Role::Operand},
    {kAttention, fb::ScaledDotProductAttention::VT_SCALE_ID, Role::Operand},
    {kAttention, fb::ScaledDotProductAttention::VT_MASK_ID, Role::MaybeOperand},
    {kAttention, fb::ScaledDotProductAttention::VT_OUTPUT_ID, Role::Result},
    {kAttention, fb::ScaledDotProductAttention::VT_FLAGS, Role::Flags},
};

// The layouts of the node union's members, in its order.
constexpr Layout kNodeLayouts[] = {
    kNode2x1,
    kFullyConnected,
    kNode1x1,
    kNode1x1,
    kStaticTranspose,
    kNode1x1,
    kConvolution,
    kNode2x1,
    kResizeBilinear,
    kConstantPad,
    kPooling,
    kNode2x1,
    kConvolution,
    kPooling,
    kNode2x1,
    kNode2x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kStaticReshape,
    kArgMaxPooling,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kLeakyRelu,
    kNode2x1,
    kNode1x1,
    kNode1x1,
    kElu,
    kNode1x1,
    kNode2x1,
    kConcatenate,
    kConcatenate,
    kConcatenate,
    kStaticSlice,
    kAttention,
    kNode2x1,
    kConcatenate,
    kConvolution,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode1x1,
    kNode2x1,
    kNode1x1,
};
static_assert(sizeof(kNodeLayouts) == static_cast<size_t>(fb::XNodeUnion::MAX));

}  // namespace rows

/// The layout of a verified node.
inline Layout layout_of(const fb_xnnpack::XNode& node) {
  const auto kind = static_cast<size_t>(node.xnode_union_type());
  // A verified node is of a kind, which the compiler cannot know.
  return kind == 0 ? kNode1x1 : rows::kNodeLayouts[kind - 1];
}

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
