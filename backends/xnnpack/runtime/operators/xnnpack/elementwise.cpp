// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of each element, conversions and attention on XNNPACK.
#include <iterator>

#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;

struct UnaryRow {
  NodeKind kind;
  xnn_unary_operator function;
};
constexpr UnaryRow kUnary[] = {
    {NodeKind::Sigmoid, xnn_unary_sigmoid},
    {NodeKind::Clamp, xnn_unary_clamp},
    {NodeKind::Floor, xnn_unary_floor},
    {NodeKind::SquareRoot, xnn_unary_square_root},
    {NodeKind::Ceiling, xnn_unary_ceiling},
    {NodeKind::Hardswish, xnn_unary_hardswish},
    {NodeKind::LeakyReLU, xnn_unary_leaky_relu},
    {NodeKind::Negate, xnn_unary_negate},
    {NodeKind::Square, xnn_unary_square},
    {NodeKind::ELU, xnn_unary_elu},
    {NodeKind::Abs, xnn_unary_abs},
    {NodeKind::ReciprocalSquareRoot, xnn_unary_reciprocal_square_root},
    {NodeKind::Log, xnn_unary_log},
    {NodeKind::Gelu, xnn_unary_gelu},
    {NodeKind::Tanh, xnn_unary_tanh},
    {NodeKind::Exp, xnn_unary_exp},
    {NodeKind::Sin, xnn_unary_sine},
    {NodeKind::Cos, xnn_unary_cosine},
    {NodeKind::BankersRounding, xnn_unary_bankers_rounding},
    {NodeKind::Sign, xnn_unary_sign},
    {NodeKind::Convert, xnn_unary_convert},
};

struct BinaryRow {
  NodeKind kind;
  xnn_binary_operator function;
};
constexpr BinaryRow kBinary[] = {
    {NodeKind::Add, xnn_binary_add},           {NodeKind::Subtract, xnn_binary_subtract},
    {NodeKind::Multiply, xnn_binary_multiply}, {NodeKind::Div, xnn_binary_divide},
    {NodeKind::Minimum, xnn_binary_minimum},   {NodeKind::Maximum, xnn_binary_maximum},
    {NodeKind::PReLU, xnn_binary_prelu},       {NodeKind::CopySign, xnn_binary_copysign},
};

xnn_unary_params parameters_of(const Node& node) {
  xnn_unary_params params{};
  if (node.kind == NodeKind::Clamp) {
    params.clamp = {node.clamp.min, node.clamp.max};
  } else if (node.kind == NodeKind::LeakyReLU) {
    params.leaky_relu = {node.as<fb::LeakyReLU>().negative_slope()};
  } else if (node.kind == NodeKind::ELU) {
    params.elu = {node.as<fb::ELU>().alpha()};
  }
  return params;
}

class XnnUnary final : public XnnOperator {
 public:
  XnnUnary(const OperatorContext& context, bool in_place, xnn_operator_t handle)
      : XnnOperator("Unary Elementwise (NC)", context, handle), in_place_(in_place) {}

  bool may_overwrite(size_t) const override { return in_place_; }

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    const auto total = static_cast<size_t>(elements(*t.operands[0].shape));
    return xnn_reshape_unary_elementwise_nc(handle(), total, 1, 1, 1, threads());
  }
  xnn_status setup_xnn(const Tensors& t) override {
    return xnn_setup_unary_elementwise_nc(handle(), t.operands[0].data, t.results[0].data);
  }

  bool in_place_;
};

/// Quantizes each row of float16 with parameters computed from its values.
class XnnQuantizeRows final : public XnnOperator {
 public:
  XnnQuantizeRows(const OperatorContext& context, xnn_operator_t handle)
      : XnnOperator("Convert (NC, F16, QD8)", context, handle) {}

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    const size_t rows = row_count(*t.results[0].value, *t.operands[0].shape);
    const size_t length = static_cast<size_t>(elements(*t.operands[0].shape)) / rows;
    return xnn_reshape_convert_nc_f16_qd8(handle(), rows, length, length, length, threads());
  }
  xnn_status setup_xnn(const Tensors& t) override {
    return xnn_setup_convert_nc_f16_qd8(handle(), any(t.operands[0].data), any(t.results[0].data),
                                        xnn_row_parameters(t.results[0]));
  }
};

class XnnBinary final : public XnnOperator {
 public:
  XnnBinary(const OperatorContext& context, xnn_operator_t handle)
      : XnnOperator("Binary Elementwise (ND)", context, handle) {}

  bool may_overwrite(size_t operand) const override { return is_whole_[operand]; }

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    XnnDims a(*t.operands[0].shape), b(*t.operands[1].shape);
    for (XnnDims* scalar : {&a, &b}) {
      if (scalar->count == 0) {
        scalar->count = scalar->dims[0] = 1;
      }
    }
    for (size_t i = 0; i < 2; ++i) {
      is_whole_[i] = elements(*t.operands[i].shape) == elements(*t.results[0].shape);
    }
    return xnn_reshape_binary_elementwise_nd(handle(), a.count, a.dims, b.count, b.dims, threads());
  }
  xnn_status setup_xnn(const Tensors& t) override {
    return xnn_setup_binary_elementwise_nd(handle(), t.operands[0].data, t.operands[1].data,
                                           t.results[0].data);
  }

  bool is_whole_[2] = {};
};

class XnnAttention final : public XnnOperator {
 public:
  XnnAttention(const OperatorContext& context, xnn_operator_t handle)
      : XnnOperator("Scaled Dot-Product Attention (NHTC, F32)", context, handle) {}

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    const Shape &query = *t.operands[0].shape, &key = *t.operands[1].shape,
                &value = *t.operands[2].shape;
    return xnn_reshape_scaled_dot_product_attention_nhtc_f32(
        handle(), query.dims[0], query.dims[1], query.dims[2], key.dims[1], key.dims[2],
        query.dims[3], value.dims[3], scratch_size(), scratch_alignment(), threads());
  }
  xnn_status setup_xnn(const Tensors& t) override {
    const auto& in = t.operands;
    return xnn_setup_scaled_dot_product_attention_nhtc_f32(
        handle(), t.scratch, any(in[0].data), any(in[1].data), any(in[2].data), any(in[3].data),
        any(in[4].data), any(t.results[0].data));
  }
};

Datatype datatype_of(const OperatorContext& context, uint32_t id) {
  return context.graph.values[id].datatype;
}

}  // namespace

OperatorResult create_xnn_unary(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  for (const UnaryRow& row : kUnary) {
    if (row.kind == node.kind) {
      const xnn_unary_params params = parameters_of(node);
      const xnn_quantization_params in = quantization_of(x), out = quantization_of(y);
      xnn_operator_t handle = nullptr;
      const xnn_status status = xnn_create_unary_elementwise_nc(
          row.function, xnn_datatype_of(x.datatype), xnn_datatype_of(y.datatype), &params, &in,
          &out, /*flags=*/0, &handle);
      return wrap_xnn<XnnUnary>(node, status, handle, context, x.datatype == y.datatype);
    }
  }
  return refuse_datatypes(node, context);
}

OperatorResult create_xnn_convert(const Node& node, const OperatorContext& context) {
  const Datatype from = datatype_of(context, node.operand(0)),
                 to = datatype_of(context, node.result());
  if (from == Datatype::BFloat16 || to == Datatype::BFloat16 ||  // not supported by XNNPACK
      (from == Datatype::Float32 && to == Datatype::QDInt8)) {   // faster on the engine
    return create_plain_convert(node, context);
  }
  if (to != Datatype::QDInt8) {
    return create_xnn_unary(node, context);
  }
  if (from != Datatype::Float16) {
    return refuse_datatypes(node, context);
  }
  xnn_operator_t handle = nullptr;
  const xnn_status status = xnn_create_convert_nc_f16_qd8(0, &handle);
  return wrap_xnn<XnnQuantizeRows>(node, status, handle, context);
}

OperatorResult create_xnn_binary(const Node& node, const OperatorContext& context) {
  const Value &a = context.graph.values[node.operand(0)],
              &b = context.graph.values[node.operand(1)], &y = context.graph.values[node.result()];
  for (const BinaryRow& row : kBinary) {
    if (row.kind == node.kind && a.datatype == b.datatype && a.datatype == y.datatype) {
      const xnn_quantization_params left = quantization_of(a), right = quantization_of(b),
                                    out = quantization_of(y);
      xnn_operator_t handle = nullptr;
      const xnn_status status = xnn_create_binary_elementwise_nd(
          row.function, xnn_datatype_of(a.datatype), &left, &right, &out, /*flags=*/0, &handle);
      return wrap_xnn<XnnBinary>(node, status, handle, context);
    }
  }
  return refuse_datatypes(node, context);
}

OperatorResult create_xnn_attention(const Node& node, const OperatorContext& context) {
  if (datatype_of(context, node.operand(0)) != Datatype::Float32) {
    return refuse_datatypes(node, context);
  }
  xnn_operator_t handle = nullptr;
  const xnn_status status = xnn_create_scaled_dot_product_attention_nhtc_f32(
      xnn_attention_logits_cap_type_none, nullptr, 0, &handle);
  return wrap_xnn<XnnAttention>(node, status, handle, context);
}

}  // namespace executorch::backends::xnnpack
