// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers of float32 whose constant weights are bfloat16 in the program, on processors that
// do not multiply bfloat16: the packed weights keep 16 bits.
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/gemm/bf16_weights.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// The bfloat16 constant of a layer's weights; null if they are something else.
const Value* bf16_weights(const Node& node, const OperatorContext& context) {
  const Graph& graph = context.graph;
  const auto narrow = graph.narrow_weights.find(node.operand(1));
  if (narrow == graph.narrow_weights.end()) return nullptr;
  const Value& weights = graph.values[narrow->second];
  return weights.datatype == Datatype::BFloat16 ? &weights : nullptr;
}

class Bf16Linear final : public EngineOperator {
 public:
  Bf16Linear(const Node& node, const OperatorContext& context)
      : EngineOperator("Fully Connected (NC, F32, BF16W) GEMM", context),
        is_transposed_((node.flags & kTransposeWeights) != 0),
        tail_(node) {
    const Shape& filter = context.graph.values[node.operand(1)].declared;
    gemm_ = engine::Bf16WeightGemm::plan(static_cast<size_t>(filter.dims[is_transposed_ ? 1 : 0]),
                                         static_cast<size_t>(filter.dims[is_transposed_ ? 0 : 1]));
  }

  Error pack(const Node& node, const OperatorContext& context) {
    const Value& filter = context.graph.values[node.operand(1)];
    const Value* const bias =
        node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)];
    const auto* data = static_cast<const uint16_t*>(bf16_weights(node, context)->data);
    const engine::Bf16Matrix right = is_transposed_ ? engine::Bf16Matrix{data, gemm_.columns(), 1}
                                                    : engine::Bf16Matrix{data, 1, gemm_.depth()};
    return packed_.create(
        context, gemm_.layout(), filter, bias, gemm_.packed_bytes(), [&](float* to) {
          gemm_.pack(right, bias == nullptr ? nullptr : static_cast<const float*>(bias->data), to,
                     threads());
        });
  }

  Error reshape(const Tensors& t) override {
    tail_.reshape(t);
    call_.rows = static_cast<size_t>(elements(*t.operands[0].shape)) / gemm_.depth();
    call_.left_stride = gemm_.depth();
    call_.out_stride = gemm_.columns();
    set_scratch(tail_.scratch_bytes() + gemm_.scratch_bytes(call_.rows, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    call_.left = operand(0);
    call_.packed = packed_.data();
    call_.out = tail_.target(tensors());
    call_.epilogue = tail_.epilogue(tensors());
    call_.scratch = scratch() == nullptr ? nullptr : scratch() + tail_.scratch_bytes();
    gemm_.run(call_, threads());
    tail_.finish(tensors(), threads());
    return Error::Ok;
  }

 private:
  bool is_transposed_;
  engine::Bf16WeightGemm gemm_;
  FusedTail tail_;
  engine::GemmCall call_;
  PackedFloats packed_;
};

}  // namespace

bool has_bf16_weights(const Node& node, const OperatorContext& context) {
  return engine::Bf16WeightGemm::is_available() && bf16_weights(node, context) != nullptr;
}

OperatorResult create_bf16_linear(const Node& node, const OperatorContext& context) {
  auto created = std::make_unique<Bf16Linear>(node, context);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(node, context));
  return std::unique_ptr<Operator>(std::move(created));
}

}  // namespace executorch::backends::xnnpack
