// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of float32 images on the engine.
#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

const char* label_of(NodeKind kind, const engine::Conv2d& plan) {
  if (kind == NodeKind::ConvTranspose2d) {
    return "Deconvolution (NHWC, F32)";
  }
  const bool is_rounded = plan.precision() == engine::Precision::BFloat16;
  switch (plan.algorithm()) {
    case engine::ConvAlgorithm::Depthwise:
      return "Convolution (NHWC, F32) DWConv";
    case engine::ConvAlgorithm::Winograd:
      return "Convolution (NHWC, F32) Winograd";
    case engine::ConvAlgorithm::Product:
      return is_rounded ? "Convolution (NHWC, BF16) GEMM" : "Convolution (NHWC, F32) GEMM";
    default:
      return is_rounded ? "Convolution (NHWC, BF16) IGEMM" : "Convolution (NHWC, F32) IGEMM";
  }
}

class Convolution final : public EngineOperator {
 public:
  Convolution(const Node& node, const OperatorContext& context, const engine::Conv2d& plan)
      : EngineOperator(label_of(node.kind, plan), context),
        plan_(plan),
        tail_(node),
        reads_pairs_(node.reads_pairs),
        writes_pairs_(node.writes_pairs) {}

  /// @param converted See float_contents().
  Error pack(const Node& node, const OperatorContext& context, DelegateBlock* converted) {
    const Value& filter = context.graph.values[node.operand(1)];
    const Value* const bias =
        node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)];
    return packed_.create(
        context, plan_.layout(), filter, bias, plan_.packed_bytes(), [&](float* to) {
          if (float_contents(context.graph, node.operand(1), converted) == nullptr) return false;
          plan_.pack(weights_of(node, context, converted), to, threads());
          return true;
        });
  }

  /// @param storage See float_contents(), which must have succeeded.
  static engine::ConvWeights weights_of(const Node& node, const OperatorContext& context,
                                        DelegateBlock* storage) {
    const engine::Conv2dParams params = convolution_params(node);
    const float* const filter = float_contents(context.graph, node.operand(1), storage);
    const auto* bias = node.operand(2) == kNoValue
                           ? nullptr
                           : static_cast<const float*>(context.graph.values[node.operand(2)].data);
    return node.kind == NodeKind::DepthwiseConv2d ? engine::ConvWeights::hwo(params, filter, bias)
                                                  : engine::ConvWeights::ohwi(params, filter, bias);
  }

  Error reshape(const Tensors& t) override {
    set_precision(plan_.precision());
    const Shape& x = *t.operands[0].shape;
    tail_.reshape(t);
    call_.batch = static_cast<size_t>(x.dims[0]);
    call_.input_size = {static_cast<size_t>(x.dims[1]), static_cast<size_t>(x.dims[2])};
    call_.input_pixel_stride = static_cast<size_t>(x.dims[3]) / (reads_pairs_ ? 2 : 1);
    call_.output_pixel_stride =
        plan_.params().groups * plan_.params().group_outputs / (writes_pairs_ ? 2 : 1);
    set_scratch(tail_.scratch_bytes() +
                plan_.scratch_bytes(call_.batch, call_.input_size, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    call_.input = operand(0);
    call_.packed = packed_.data();
    call_.output = tail_.target(tensors());
    call_.epilogue = tail_.epilogue(tensors());
    call_.scratch = scratch() == nullptr ? nullptr : scratch() + tail_.scratch_bytes();
    plan_.run(call_, threads());
    tail_.finish(tensors(), threads());
    return Error::Ok;
  }

 private:
  engine::Conv2d plan_;
  FusedTail tail_;
  const bool reads_pairs_, writes_pairs_;
  PackedFloats packed_;
  engine::Conv2dCall call_;
};

engine::Conv2d plan_of(const Node& node, const OperatorContext& context) {
  const Shape& x = context.graph.values[node.operand(0)].declared;
  engine::Conv2d plan =
      engine::Conv2d::plan(convolution_params(node), static_cast<size_t>(x.dims[0]),
                           {static_cast<size_t>(x.dims[1]), static_cast<size_t>(x.dims[2])},
                           engine::instruction_set(), node.precision);
  if (node.reads_pairs) plan = plan.reading_pairs();
  if (node.writes_pairs) plan = plan.writing_pairs();
  return plan;
}

/// Conv2d::accepts(), without reading weights that an earlier delegate or load has packed.
bool accepts_weights(const engine::Conv2d& plan, const Node& node, const OperatorContext& context,
                     DelegateBlock* converted) {
  const Value& filter = context.graph.values[node.operand(1)];
  const Value* const bias =
      node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)];
  if (plan.algorithm() != engine::ConvAlgorithm::Winograd ||
      PackedFloats::exist(context, plan.layout(), filter, bias) ||
      float_contents(context.graph, node.operand(1), converted) == nullptr) {
    return true;
  }
  return plan.accepts(Convolution::weights_of(node, context, converted));
}

bool has_constant_weights(const Node& node, const OperatorContext& context) {
  return context.graph.values[node.operand(1)].is_constant() &&
         (node.operand(2) == kNoValue || context.graph.values[node.operand(2)].is_constant());
}

}  // namespace

OperatorResult create_convolution(const Node& node, const OperatorContext& context) {
  if (!is_engine_convolution(node, context)) {
    return node.kind == NodeKind::ConvTranspose2d ? create_xnn_deconvolution(node, context)
                                                  : create_quantized_convolution(node, context);
  }
  engine::Conv2d plan = plan_of(node, context);
  DelegateBlock converted;
  if (!accepts_weights(plan, node, context, &converted)) {
    plan = plan.without_winograd();
  }
  auto created = std::make_unique<Convolution>(node, context, plan);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(node, context, &converted));
  return std::unique_ptr<Operator>(std::move(created));
}

bool can_read_pairs(const Node& node, const OperatorContext& context) {
  return node.fused == Fused::No && is_engine_convolution(node, context) &&
         plan_of(node, context).can_read_pairs();
}

bool can_write_pairs(const Node& node, const OperatorContext& context) {
  return node.fused == Fused::No && is_engine_convolution(node, context) &&
         plan_of(node, context).can_write_pairs(node.activation);
}

bool is_engine_convolution(const Node& node, const OperatorContext& context) {
  const bool is_convolution = node.kind == NodeKind::Conv2d ||
                              node.kind == NodeKind::DepthwiseConv2d ||
                              node.kind == NodeKind::ConvTranspose2d;
  return is_convolution && is_float32(node, context) && has_constant_weights(node, context) &&
         (node.flags & kSamePadding) == 0;
}

}  // namespace executorch::backends::xnnpack
