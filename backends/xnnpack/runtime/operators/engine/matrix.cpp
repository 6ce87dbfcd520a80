// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers and batched matrix products of float32 on the engine, which may round the factors
// to bfloat16.
#include <algorithm>
#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/gemm/gemm.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// A linear layer's weights: [outputs, inputs], or transposed.
engine::RightMatrix right_of(const float* data, size_t inputs, size_t outputs, bool transposed) {
  return transposed ? engine::RightMatrix{data, outputs, 1} : engine::RightMatrix{data, 1, inputs};
}

engine::Gemm plan_for(const Shape& filter, bool is_transposed, engine::Precision precision) {
  return engine::Gemm::plan(static_cast<size_t>(filter.dims[is_transposed ? 1 : 0]),
                            static_cast<size_t>(filter.dims[is_transposed ? 0 : 1]),
                            engine::instruction_set(), precision);
}

engine::Gemm gemm_for(const Node& node, const OperatorContext& context) {
  return plan_for(context.graph.values[node.operand(1)].declared,
                  (node.flags & kTransposeWeights) != 0, node.precision);
}

bool is_rounded(const engine::Gemm& gemm) {
  return gemm.precision() == engine::Precision::BFloat16;
}

class Linear : public EngineOperator {
 public:
  Error reshape(const Tensors& t) override {
    tail_.reshape(t);
    call_.rows = static_cast<size_t>(elements(*t.operands[0].shape)) / gemm_.depth();
    call_.left_stride = gemm_.depth();
    call_.out_stride = gemm_.columns();
    set_precision(gemm_.precision());
    set_scratch(tail_.scratch_bytes() + own_scratch() + gemm_.scratch_bytes(call_.rows));
    return Error::Ok;
  }

  Error run() override {
    call_.left = operand(0);
    call_.packed = packed();
    call_.out = tail_.target(tensors());
    call_.epilogue = tail_.epilogue(tensors());
    call_.scratch =
        scratch() == nullptr ? nullptr : scratch() + tail_.scratch_bytes() + own_scratch();
    gemm_.run(call_, threads());
    tail_.finish(tensors(), threads());
    return Error::Ok;
  }

 protected:
  struct Labels {
    const char *float32, *bfloat16;
  };
  Linear(const Labels& labels, const Node& node, const OperatorContext& context)
      : EngineOperator(is_rounded(gemm_for(node, context)) ? labels.bfloat16 : labels.float32,
                       context),
        is_transposed_((node.flags & kTransposeWeights) != 0),
        precision_(node.precision),
        gemm_(gemm_for(node, context)),
        tail_(node) {}

  const engine::Gemm& gemm() const { return gemm_; }
  /// Plans the product for weights of another shape.
  void set_weights_shape(const Shape& filter) {
    gemm_ = plan_for(filter, is_transposed_, precision_);
  }
  const FusedTail& tail() const { return tail_; }
  void pack_weights(const float* weights, const float* bias, float* to) {
    gemm_.pack(right_of(weights, gemm_.depth(), gemm_.columns(), is_transposed_), bias, to,
               threads());
  }
  virtual size_t own_scratch() const = 0;
  virtual const float* packed() = 0;

 private:
  bool is_transposed_;
  engine::Precision precision_;
  engine::Gemm gemm_;
  FusedTail tail_;
  engine::GemmCall call_;
};

class ConstantLinear final : public Linear {
 public:
  ConstantLinear(const Node& node, const OperatorContext& context)
      : Linear({"Fully Connected (NC, F32) GEMM", "Fully Connected (NC, BF16) GEMM"}, node,
               context) {}

  Error pack(const Node& node, const OperatorContext& context) {
    const Value& filter = context.graph.values[node.operand(1)];
    const Value* const bias =
        node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)];
    return packed_.create(
        context, gemm().layout(), filter, bias, gemm().packed_bytes(), [&](float* to) {
          DelegateBlock storage;
          const float* const from = float_contents(context.graph, node.operand(1), &storage);
          if (from == nullptr) return false;
          pack_weights(from, bias == nullptr ? nullptr : static_cast<const float*>(bias->data), to);
          return true;
        });
  }

 private:
  size_t own_scratch() const override { return 0; }
  const float* packed() override { return packed_.data(); }

  PackedFloats packed_;
};

/// A layer with a variable weight or bias, which every run packs.
class DynamicLinear final : public Linear {
 public:
  DynamicLinear(const Node& node, const OperatorContext& context)
      : Linear(
            {"Dynamic Fully Connected (NC, F32) GEMM", "Dynamic Fully Connected (NC, BF16) GEMM"},
            node, context) {}

  /// Variable weights may be smaller than declared.
  Error reshape(const Tensors& t) override {
    set_weights_shape(*t.operands[1].shape);
    return Linear::reshape(t);
  }

 private:
  size_t own_scratch() const override { return gemm().packed_bytes(); }
  const float* packed() override {
    auto* const to = reinterpret_cast<float*>(scratch() + tail().scratch_bytes());
    pack_weights(operand(1), operand(2), to);
    return to;
  }
};

class BatchMatmul final : public EngineOperator {
 public:
  BatchMatmul(const Node& node, const OperatorContext& context)
      : EngineOperator(node.precision == engine::Precision::BFloat16
                           ? "Batch Matrix Multiply (NC, BF16) GEMM"
                           : "Batch Matrix Multiply (NC, F32) GEMM",
                       context),
        is_transposed_((node.flags & kTransposeWeights) != 0) {
    call_.precision = node.precision;
  }

  Error reshape(const Tensors& t) override {
    const Shape &a = *t.operands[0].shape, &b = *t.operands[1].shape, &out = *t.results[0].shape;
    call_.batch_rank = out.rank - 2;
    call_.rows = static_cast<size_t>(out.dims[out.rank - 2]);
    call_.columns = static_cast<size_t>(out.dims[out.rank - 1]);
    call_.depth = static_cast<size_t>(a.dims[a.rank - 1]);
    call_.left_stride = call_.depth;
    call_.out_stride = call_.columns;
    std::copy_n(out.dims, call_.batch_rank, sizes_);
    Shape batch = out;
    batch.rank = call_.batch_rank;
    set_strides(batch, a, left_);
    set_strides(batch, b, right_);
    set_strides(batch, out, out_);
    call_.batch_sizes = sizes_;
    call_.left_batch_strides = left_;
    call_.right_batch_strides = right_;
    call_.out_batch_strides = out_;
    set_precision(engine::batch_matmul_precision(call_));
    set_scratch(engine::batch_matmul_scratch_bytes(call_, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    call_.left = operand(0);
    call_.right = right_of(operand(1), call_.depth, call_.columns, !is_transposed_);
    call_.out = result();
    engine::batch_matmul(call_, scratch(), threads());
    return Error::Ok;
  }

 private:
  /// The strides of an operand's matrices, which are broadcast to the result's.
  static void set_strides(const Shape& batch, const Shape& operand, size_t* strides) {
    Shape matrices = operand;
    matrices.rank -= 2;
    broadcast_strides(matrices, batch, strides);
    const auto matrix =
        static_cast<size_t>(operand.dims[operand.rank - 2] * operand.dims[operand.rank - 1]);
    for (size_t d = 0; d < batch.rank; ++d) {
      strides[d] *= matrix;
    }
  }

  bool is_transposed_;
  engine::BatchMatmulCall call_;
  size_t sizes_[Shape::kMaxRank], left_[Shape::kMaxRank], right_[Shape::kMaxRank],
      out_[Shape::kMaxRank];
};

}  // namespace

bool is_engine_linear(const Node& node, const OperatorContext& context) {
  return node.kind == NodeKind::FullyConnected && is_float32(node, context);
}

OperatorResult create_linear(const Node& node, const OperatorContext& context) {
  if (!is_engine_linear(node, context)) {
    return create_quantized_linear(node, context);
  }
  const std::vector<Value>& values = context.graph.values;
  if (!values[node.operand(1)].is_constant() ||
      (node.operand(2) != kNoValue && !values[node.operand(2)].is_constant())) {
    return std::unique_ptr<Operator>(std::make_unique<DynamicLinear>(node, context));
  }
  if (has_narrow_weights(node, context)) {
    return create_narrow_linear(node, context);
  }
  auto created = std::make_unique<ConstantLinear>(node, context);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(node, context));
  return std::unique_ptr<Operator>(std::move(created));
}

OperatorResult create_batch_matmul(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context)) {
    return refuse_datatypes(node, context);
  }
  return std::unique_ptr<Operator>(std::make_unique<BatchMatmul>(node, context));
}

}  // namespace executorch::backends::xnnpack
