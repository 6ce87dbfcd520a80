// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/node_definitions.h>

#include <iterator>
#include <limits>

#include <executorch/runtime/executor/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using runtime::Span;

/// What the functions below need of a node besides its fields.
struct Context {
  xnn_subgraph_t graph;
  Span<const uint32_t> ids;
  Span<const fb::TensorValue* const> values;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();

  uint32_t id(uint32_t payload_id) const {
    return payload_id == XNN_INVALID_VALUE_ID ? XNN_INVALID_VALUE_ID : ids[payload_id];
  }
};

/// A vector of the payload as XNNPACK takes it.
struct Sizes {
  explicit Sizes(const flatbuffers::Vector<uint32_t>* from)
      : count(runtime::internal::count(from)) {
    for (size_t i = 0; i < count && i < XNN_MAX_TENSOR_DIMS; ++i) {
      values[i] = from->Get(static_cast<uint32_t>(i));
    }
  }
  bool fits() const { return count <= XNN_MAX_TENSOR_DIMS; }

  size_t count;
  size_t values[XNN_MAX_TENSOR_DIMS] = {};
};

// Flags that change how XNNPACK reads weights it was not given are not passed on.
constexpr uint32_t kMatrixFlags = XNN_FLAG_TRANSPOSE_WEIGHTS;
constexpr uint32_t kWindowFlags = XNN_FLAG_TENSORFLOW_SAME_PADDING;
constexpr uint32_t kResizeFlags = XNN_FLAG_ALIGN_CORNERS | XNN_FLAG_TENSORFLOW_LEGACY_MODE;

using Define = xnn_status (*)(const Context&, const void*);

template <xnn_unary_operator op>
xnn_status unary(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Node1x1*>(node);
  return xnn_define_unary(c.graph, op, nullptr, c.id(n.input_id()), c.id(n.output_id()), 0);
}

xnn_status clamp(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Node1x1*>(node);
  xnn_unary_params params;
  params.clamp = {c.min, c.max};
  return xnn_define_unary(c.graph, xnn_unary_clamp, &params, c.id(n.input_id()),
                          c.id(n.output_id()), 0);
}

xnn_status leaky_relu(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::LeakyReLU*>(node);
  xnn_unary_params params;
  params.leaky_relu = {n.negative_slope()};
  return xnn_define_unary(c.graph, xnn_unary_leaky_relu, &params, c.id(n.input_id()),
                          c.id(n.output_id()), 0);
}

xnn_status elu(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::ELU*>(node);
  xnn_unary_params params;
  params.elu = {n.alpha()};
  return xnn_define_unary(c.graph, xnn_unary_elu, &params, c.id(n.input_id()), c.id(n.output_id()),
                          0);
}

template <xnn_status (*define)(xnn_subgraph_t, uint32_t, uint32_t, uint32_t)>
xnn_status one_operand(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Node1x1*>(node);
  return define(c.graph, c.id(n.input_id()), c.id(n.output_id()), 0);
}

// Over height and width of images in NHWC.
template <xnn_reduce_operator op>
xnn_status over_image(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Node1x1*>(node);
  const auto* dims = c.values[n.input_id()]->dims();
  // Rows of numbers come as images of one channel: XNNPACK sums them faster when it sees rows.
  const bool rows = runtime::internal::count(dims) == 4 && dims->Get(3) == 1 &&
                    (n.flags() & XNN_FLAG_KEEP_DIMS) != 0;
  const size_t axes[] = {1, 2, 3};
  return xnn_define_static_reduce(c.graph, op, rows ? 3 : 2, axes, c.id(n.input_id()),
                                  c.id(n.output_id()), n.flags() & XNN_FLAG_KEEP_DIMS);
}

template <xnn_binary_operator op>
xnn_status binary(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Node2x1*>(node);
  const xnn_binary_params params{c.min, c.max};
  return xnn_define_binary(c.graph, op, &params, c.id(n.input1_id()), c.id(n.input2_id()),
                           c.id(n.output_id()), 0);
}

xnn_status batch_matrix_multiply(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Node2x1*>(node);
  return xnn_define_batch_matrix_multiply(c.graph, c.id(n.input1_id()), c.id(n.input2_id()),
                                          c.id(n.output_id()), n.flags() & kMatrixFlags);
}

xnn_status fully_connected(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::FullyConnected*>(node);
  return xnn_define_fully_connected(c.graph, c.min, c.max, c.id(n.input1_id()), c.id(n.filter_id()),
                                    c.id(n.bias_id()), c.id(n.output_id()),
                                    n.flags() & kMatrixFlags);
}

xnn_status convolution(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Convolution*>(node);
  return xnn_define_convolution_2d(
      c.graph, n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.kernel_height(), n.kernel_width(), n.subsampling_height(), n.subsampling_width(),
      n.dilation_height(), n.dilation_width(), n.groups(), n.group_input_channels(),
      n.group_output_channels(), c.min, c.max, c.id(n.input1_id()), c.id(n.filter_id()),
      c.id(n.bias_id()), c.id(n.output_id()), n.flags() & kWindowFlags);
}

xnn_status depthwise_convolution(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Convolution*>(node);
  if (n.group_input_channels() == 0) {
    return xnn_status_invalid_parameter;
  }
  return xnn_define_depthwise_convolution_2d(
      c.graph, n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.kernel_height(), n.kernel_width(), n.subsampling_height(), n.subsampling_width(),
      n.dilation_height(), n.dilation_width(), n.group_output_channels() / n.group_input_channels(),
      n.groups(), c.min, c.max, c.id(n.input1_id()), c.id(n.filter_id()), c.id(n.bias_id()),
      c.id(n.output_id()), n.flags() & kWindowFlags);
}

xnn_status transposed_convolution(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Convolution*>(node);
  return xnn_define_deconvolution_2d(
      c.graph, n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.adjustment_height(), n.adjustment_width(), n.kernel_height(), n.kernel_width(),
      n.subsampling_height(), n.subsampling_width(), n.dilation_height(), n.dilation_width(),
      n.groups(), n.group_input_channels(), n.group_output_channels(), c.min, c.max,
      c.id(n.input1_id()), c.id(n.filter_id()), c.id(n.bias_id()), c.id(n.output_id()), 0);
}

xnn_status average_pooling(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Pooling*>(node);
  return xnn_define_average_pooling_2d(
      c.graph, n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.pooling_height(), n.pooling_width(), n.stride_height(), n.stride_width(), c.min, c.max,
      c.id(n.input_id()), c.id(n.output_id()), n.flags() & kWindowFlags);
}

xnn_status max_pooling(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Pooling*>(node);
  return xnn_define_max_pooling_2d(c.graph, n.padding_top(), n.padding_right(), n.padding_bottom(),
                                   n.padding_left(), n.pooling_height(), n.pooling_width(),
                                   n.stride_height(), n.stride_width(), n.dilation_height(),
                                   n.dilation_width(), c.min, c.max, c.id(n.input_id()),
                                   c.id(n.output_id()), n.flags() & kWindowFlags);
}

xnn_status argmax_pooling(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::ArgMaxPooling2d*>(node);
  return xnn_define_argmax_pooling_2d(
      c.graph, n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.pooling_height(), n.pooling_width(), c.id(n.input_id()), c.id(n.output_value_id()),
      c.id(n.output_index_id()), n.flags() & kWindowFlags);
}

xnn_status transpose(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::StaticTranspose*>(node);
  const Sizes perm(n.perm());
  return !perm.fits() ? xnn_status_invalid_parameter
                      : xnn_define_static_transpose(c.graph, perm.count, perm.values,
                                                    c.id(n.input_id()), c.id(n.output_id()), 0);
}

xnn_status reshape(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::StaticReshape*>(node);
  const Sizes shape(n.new_shape());
  return !shape.fits() ? xnn_status_invalid_parameter
                       : xnn_define_static_reshape(c.graph, shape.count, shape.values,
                                                   c.id(n.input_id()), c.id(n.output_id()), 0);
}

xnn_status slice(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::StaticSlice*>(node);
  const Sizes offsets(n.offsets()), sizes(n.sizes());
  if (!offsets.fits() || offsets.count != sizes.count) {
    return xnn_status_invalid_parameter;
  }
  return xnn_define_static_slice(c.graph, offsets.count, offsets.values, sizes.values,
                                 c.id(n.input_id()), c.id(n.output_id()), 0);
}

xnn_status constant_pad(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::StaticConstantPad*>(node);
  // XNNPACK reads as many paddings as the operand has dimensions: what is not given is zero.
  const Sizes before(n.pre_paddings()), after(n.post_paddings());
  if (!before.fits() || before.count != after.count) {
    return xnn_status_invalid_parameter;
  }
  return xnn_define_static_constant_pad(c.graph, before.values, after.values, n.padding_value(),
                                        c.id(n.input_id()), c.id(n.output_id()), 0);
}

xnn_status resize_bilinear(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::StaticResizeBilinear2D*>(node);
  return xnn_define_static_resize_bilinear_2d(c.graph, n.new_height(), n.new_width(),
                                              c.id(n.input_id()), c.id(n.output_id()),
                                              n.flags() & kResizeFlags);
}

xnn_status attention(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::ScaledDotProductAttention*>(node);
  return xnn_define_scaled_dot_product_attention(
      c.graph, xnn_attention_logits_cap_type_none, nullptr, c.id(n.query_id()), c.id(n.key_id()),
      c.id(n.value_id()), c.id(n.scale_id()), c.id(n.mask_id()), c.id(n.output_id()), 0);
}

template <size_t operands>
xnn_status concatenate(const Context& c, const void* node) {
  const auto& n = *static_cast<const fb::Concatenate*>(node);
  const auto axis = static_cast<int32_t>(n.axis());
  const uint32_t a = c.id(n.input1_id()), b = c.id(n.input2_id()), d = c.id(n.input3_id()),
                 e = c.id(n.input4_id()), f = c.id(n.input5_id()), out = c.id(n.output_id());
  if constexpr (operands == 2) {
    return xnn_define_concatenate2(c.graph, axis, a, b, out, 0);
  } else if constexpr (operands == 3) {
    return xnn_define_concatenate3(c.graph, axis, a, b, d, out, 0);
  } else if constexpr (operands == 4) {
    return xnn_define_concatenate4(c.graph, axis, a, b, d, e, out, 0);
  } else {
    return xnn_define_concatenate5(c.graph, axis, a, b, d, e, f, out, 0);
  }
}

// By the node union's tags, from 1.
constexpr Define kDefine[] = {
    binary<xnn_binary_add>,
    fully_connected,
    one_operand<xnn_define_softmax>,
    unary<xnn_unary_sigmoid>,
    transpose,
    clamp,
    convolution,
    binary<xnn_binary_divide>,
    resize_bilinear,
    constant_pad,
    average_pooling,
    binary<xnn_binary_minimum>,
    depthwise_convolution,
    max_pooling,
    binary<xnn_binary_multiply>,
    binary<xnn_binary_subtract>,
    unary<xnn_unary_floor>,
    unary<xnn_unary_convert>,
    over_image<xnn_reduce_mean>,
    reshape,
    argmax_pooling,
    unary<xnn_unary_square_root>,
    unary<xnn_unary_ceiling>,
    unary<xnn_unary_hardswish>,
    leaky_relu,
    binary<xnn_binary_maximum>,
    unary<xnn_unary_negate>,
    unary<xnn_unary_square>,
    elu,
    unary<xnn_unary_abs>,
    binary<xnn_binary_prelu>,
    concatenate<2>,
    concatenate<3>,
    concatenate<4>,
    slice,
    attention,
    batch_matrix_multiply,
    concatenate<5>,
    transposed_convolution,
    unary<xnn_unary_reciprocal_square_root>,
    unary<xnn_unary_log>,
    unary<xnn_unary_gelu>,
    unary<xnn_unary_tanh>,
    unary<xnn_unary_exp>,
    unary<xnn_unary_sine>,
    one_operand<xnn_define_copy>,
    unary<xnn_unary_cosine>,
    unary<xnn_unary_bankers_rounding>,
    unary<xnn_unary_sign>,
    binary<xnn_binary_copysign>,
    over_image<xnn_reduce_sum>,
};
static_assert(std::size(kDefine) == static_cast<size_t>(fb::XNodeUnion::MAX));

}  // namespace

xnn_status define_node(xnn_subgraph_t graph, const fb::XNode& node, Span<const uint32_t> ids,
                       Span<const fb::TensorValue* const> values) {
  Context context{graph, ids, values};
  if (const fb::OutputMinMax* range = node.output_min_max()) {
    context.min = range->output_min();
    context.max = range->output_max();
  }
  const auto kind = static_cast<size_t>(node.xnode_union_type());
  return kind == 0 ? xnn_status_invalid_parameter : kDefine[kind - 1](context, node.xnode_union());
}

}  // namespace executorch::backends::xnnpack
