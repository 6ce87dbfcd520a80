// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Attention of float32 on the engine: nodes of fuse_attention().
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/attention/dense.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// A batch of matrices, as they are after a change of layout.
struct Matrices {
  Shape shape;
  size_t strides[Shape::kMaxRank] = {};

  size_t rows() const { return static_cast<size_t>(shape.dims[shape.rank - 2]); }
  size_t columns() const { return static_cast<size_t>(shape.dims[shape.rank - 1]); }
  size_t row_stride() const { return strides[shape.rank - 2]; }
  size_t column_stride() const { return strides[shape.rank - 1]; }
  Shape batch() const {
    Shape result = shape;
    result.rank -= 2;
    return result;
  }
};

/// order[d] is the dimension of `from` that becomes dimension d.
Matrices matrices_of(const Shape& from, const uint8_t* order) {
  Matrices result;
  result.shape.rank = from.rank;
  size_t strides[Shape::kMaxRank], stride = 1;
  for (size_t d = from.rank; d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<size_t>(from.dims[d]);
  }
  for (size_t d = 0; d < from.rank; ++d) {
    result.shape.dims[d] = from.dims[order[d]];
    result.strides[d] = strides[order[d]];
  }
  return result;
}

/// Matrices before a change of layout: dimension d of `stored` is their dimension order[d].
Matrices stored_as(const Shape& stored, const uint8_t* order) {
  Matrices result;
  result.shape.rank = stored.rank;
  size_t stride = 1;
  for (size_t d = stored.rank; d-- > 0;) {
    result.shape.dims[order[d]] = stored.dims[d];
    result.strides[order[d]] = stride;
    stride *= static_cast<size_t>(stored.dims[d]);
  }
  return result;
}

/// Computes the strides of matrices in a batch of this shape: either the matrices are broadcast to
/// it, or their only batch dimension is divided into its dimensions. Returns false if neither fits.
bool batch_strides(const Matrices& from, const Shape& batch, size_t* strides) {
  const size_t rank = from.shape.rank - 2;
  bool broadcasts = rank <= batch.rank;
  for (size_t i = 1; i <= batch.rank && broadcasts; ++i) {
    const uint64_t size = i <= rank ? from.shape.dims[rank - i] : 1;
    broadcasts = size == 1 || size == batch.dims[batch.rank - i];
    strides[batch.rank - i] = size == 1 ? 0 : from.strides[rank - i];
  }
  if (broadcasts) {
    return true;
  }
  size_t stride = from.strides[0];
  for (size_t d = batch.rank; d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<size_t>(batch.dims[d]);
  }
  return rank == 1 && from.shape.dims[0] == elements(batch);
}

/// The shapes that a node of attention depends on.
struct AttentionShapes {
  const Shape* operands[FusedAttention::kOperands] = {};  ///< those of masks may be null
  const Shape *scores = nullptr, *result = nullptr;
};

/// The engine's call, without the tensors' memory.
class AttentionPlan final {
 public:
  AttentionPlan(const FusedAttention& attention, kernels::engine::Precision precision)
      : attention_(attention) {
    call_.scale = attention.scale;
    call_.precision = precision;
    call_.replaced.score = attention.replacement;
    call_.replaced.replaces_true = attention.replaces_true;
  }
  AttentionPlan(const AttentionPlan&) = delete;
  AttentionPlan& operator=(const AttentionPlan&) = delete;

  /// False if the engine cannot compute attention on tensors of these shapes.
  bool set(const AttentionShapes& s) {
    const Matrices q = operand_of(s, FusedAttention::kQuery);
    const Matrices k = operand_of(s, FusedAttention::kKey);
    const Matrices v = operand_of(s, FusedAttention::kValue);
    const Matrices out = stored_as(*s.result, attention_.orders[FusedAttention::kResult]);
    const bool has_key_rows = attention_.keys_are_rows, has_columns = attention_.values_are_columns;
    batch_ = out.batch();
    for (const Shape* other : {s.scores, &q.shape}) {
      if (other->rank - 2 > batch_.rank) {
        batch_ = *other;
        batch_.rank -= 2;
      }
    }
    std::copy_n(batch_.dims, batch_.rank, sizes_);
    call_.batch_rank = batch_.rank;
    call_.batch_sizes = sizes_;
    call_.queries = out.rows();
    call_.value_channels = out.columns();
    call_.keys = static_cast<size_t>(s.scores->dims[s.scores->rank - 1]);
    call_.channels = q.columns();
    call_.query = {nullptr, strides_[0], q.row_stride(), 1};
    call_.key = {nullptr, strides_[1], has_key_rows ? k.row_stride() : k.column_stride(),
                 has_key_rows ? k.column_stride() : k.row_stride()};
    call_.value = {nullptr, strides_[2], has_columns ? v.column_stride() : v.row_stride(),
                   has_columns ? v.row_stride() : v.column_stride()};
    call_.out_batch_strides = strides_[4];
    call_.out_position_stride = out.row_stride();
    return batch_strides(q, batch_, strides_[0]) && batch_strides(k, batch_, strides_[1]) &&
           batch_strides(v, batch_, strides_[2]) && batch_strides(out, batch_, strides_[4]) &&
           q.column_stride() == 1 && out.column_stride() == 1 &&
           elements(out.batch()) == elements(batch_) && q.rows() == call_.queries &&
           s.scores->dims[s.scores->rank - 2] == call_.queries &&
           (has_key_rows ? k.rows() : k.columns()) == call_.keys &&
           (has_key_rows ? k.columns() : k.rows()) == call_.channels &&
           (has_columns ? v.columns() : v.rows()) == call_.keys &&
           (has_columns ? v.rows() : v.columns()) == call_.value_channels &&
           set_mask(s.operands[FusedAttention::kMask], strides_[3], &call_.mask) &&
           set_mask(s.operands[FusedAttention::kReplaced], strides_[5], &call_.replaced);
  }

  engine::DenseAttentionCall& call() { return call_; }

 private:
  Matrices operand_of(const AttentionShapes& s, size_t which) const {
    return matrices_of(*s.operands[which], attention_.orders[which]);
  }

  /// @param given Shape of the mask; null for none.
  template <typename Mask>
  bool set_mask(const Shape* given, size_t* batch, Mask* to) const {
    if (given == nullptr) {
      return true;
    }
    constexpr uint8_t kInOrder[Shape::kMaxRank] = {0, 1, 2, 3, 4, 5};
    Shape shape = *given;
    for (; shape.rank < 2; ++shape.rank) {
      std::copy_backward(shape.dims, shape.dims + shape.rank, shape.dims + shape.rank + 1);
      shape.dims[0] = 1;
    }
    const Matrices mask = matrices_of(shape, kInOrder);
    to->batch_strides = batch;
    to->position_stride = mask.rows() == 1 ? 0 : mask.row_stride();
    to->channel_stride = mask.columns() == 1 ? 0 : 1;
    return batch_strides(mask, batch_, batch) &&
           (mask.rows() == 1 || mask.rows() == call_.queries) &&
           (mask.columns() == 1 || mask.columns() == call_.keys);
  }

  FusedAttention attention_;
  Shape batch_;
  engine::DenseAttentionCall call_;
  size_t sizes_[Shape::kMaxRank];
  /// Batch strides of queries, keys, values, the mask, results and the booleans.
  size_t strides_[6][Shape::kMaxRank];
};

class Attention final : public EngineOperator {
 public:
  Attention(const Node& node, const OperatorContext& context)
      : EngineOperator(node.precision == engine::Precision::BFloat16
                           ? "Scaled Dot-Product Attention (NHTC, BF16)"
                           : "Scaled Dot-Product Attention (NHTC, F32)",
                       context),
        plan_(node.attention, node.precision) {}

  Error reshape(const Tensors& t) override {
    AttentionShapes shapes;
    for (size_t i = 0; i < FusedAttention::kOperands; ++i) {
      shapes.operands[i] = t.operands[i].shape;
    }
    shapes.scores = t.unfused.shape;
    shapes.result = t.results[0].shape;
    if (!plan_.set(shapes)) {
      return Error::InvalidArgument;
    }
    set_precision(engine::dense_attention_precision(plan_.call()));
    set_scratch(engine::dense_attention_scratch_bytes(plan_.call(), threads().count()));
    return Error::Ok;
  }

  Error run() override {
    engine::DenseAttentionCall& call = plan_.call();
    call.query.data = operand(FusedAttention::kQuery);
    call.key.data = operand(FusedAttention::kKey);
    call.value.data = operand(FusedAttention::kValue);
    call.mask.data = operand(FusedAttention::kMask);
    call.replaced.data =
        static_cast<const uint8_t*>(tensors().operands[FusedAttention::kReplaced].data);
    call.out = result();
    engine::dense_attention(call, scratch(), threads());
    return Error::Ok;
  }

 private:
  AttentionPlan plan_;
};

}  // namespace

bool takes_attention(const Graph& graph, const Node& node) {
  AttentionShapes shapes;
  for (size_t i = 0; i < FusedAttention::kOperands; ++i) {
    shapes.operands[i] =
        node.operand(i) == kNoValue ? nullptr : &graph.values[node.operand(i)].declared;
  }
  shapes.scores = &graph.values[node.unfused].declared;
  shapes.result = &graph.values[node.result()].declared;
  return AttentionPlan(node.attention, node.precision).set(shapes);
}

OperatorResult create_attention(const Node& node, const OperatorContext& context) {
  return std::unique_ptr<Operator>(std::make_unique<Attention>(node, context));
}

}  // namespace executorch::backends::xnnpack
