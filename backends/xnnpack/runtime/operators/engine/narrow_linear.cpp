// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers that multiply float32 and whose constant weights are bfloat16 or float16 in the
// program: the packed weights keep 16 bits.
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/gemm/narrow_weights.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// The constant of a layer's narrow weights; null if they are something else.
const Value* narrow_weights(const Node& node, const OperatorContext& context) {
  const Graph& graph = context.graph;
  const auto narrow = graph.narrow_weights.find(node.operand(1));
  if (narrow == graph.narrow_weights.end()) return nullptr;
  const Value& weights = graph.values[narrow->second];
  const bool is_half =
      weights.datatype == Datatype::BFloat16 || weights.datatype == Datatype::Float16;
  return is_half ? &weights : nullptr;
}

struct Sizes {
  size_t columns, depth;
};
Sizes sizes_of(const Node& node, const OperatorContext& context) {
  const Shape& filter = context.graph.values[node.operand(1)].declared;
  const bool is_transposed = (node.flags & kTransposeWeights) != 0;
  return {static_cast<size_t>(filter.dims[is_transposed ? 1 : 0]),
          static_cast<size_t>(filter.dims[is_transposed ? 0 : 1])};
}

class NarrowLinear final : public EngineOperator {
 public:
  /// weights: of narrow_weights().
  NarrowLinear(const Node& node, const OperatorContext& context, const Value& weights)
      : EngineOperator(is_bfloat16(weights) ? "Fully Connected (NC, F32, BF16W) GEMM"
                                            : "Fully Connected (NC, F32, F16W) GEMM",
                       context),
        is_transposed_((node.flags & kTransposeWeights) != 0),
        tail_(node) {
    const Sizes sizes = sizes_of(node, context);
    gemm_ = engine::NarrowWeightGemm::plan(
        sizes.columns, sizes.depth,
        is_bfloat16(weights) ? engine::NarrowType::BFloat16 : engine::NarrowType::Float16);
  }

  Error pack(const Node& node, const OperatorContext& context, const Value& weights) {
    const Value& filter = context.graph.values[node.operand(1)];
    const Value* const bias =
        node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)];
    const auto* data = static_cast<const uint16_t*>(weights.data);
    const engine::NarrowMatrix right = is_transposed_
                                           ? engine::NarrowMatrix{data, gemm_.columns(), 1}
                                           : engine::NarrowMatrix{data, 1, gemm_.depth()};
    return packed_.create(
        context, gemm_.layout(), filter, bias, gemm_.packed_bytes(), [&](float* to) {
          gemm_.pack(right, bias == nullptr ? nullptr : static_cast<const float*>(bias->data), to,
                     threads());
          return true;
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
  static bool is_bfloat16(const Value& weights) { return weights.datatype == Datatype::BFloat16; }

  bool is_transposed_;
  engine::NarrowWeightGemm gemm_;
  FusedTail tail_;
  engine::GemmCall call_;
  PackedFloats packed_;
};

}  // namespace

bool has_narrow_weights(const Node& node, const OperatorContext& context) {
  if (!engine::NarrowWeightGemm::is_available() || narrow_weights(node, context) == nullptr) {
    return false;
  }
  const Sizes sizes = sizes_of(node, context);
  return engine::Gemm::plan(sizes.columns, sizes.depth, engine::instruction_set(), node.precision)
             .precision() == engine::Precision::Float32;
}

OperatorResult create_narrow_linear(const Node& node, const OperatorContext& context) {
  const Value& weights = *narrow_weights(node, context);  // has_narrow_weights() is a precondition
  auto created = std::make_unique<NarrowLinear>(node, context, weights);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(node, context, weights));
  return std::unique_ptr<Operator>(std::move(created));
}

}  // namespace executorch::backends::xnnpack
