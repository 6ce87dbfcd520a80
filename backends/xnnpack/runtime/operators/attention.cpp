// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Attention of float32 on the engine: nodes of fuse_attention().
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/attention/dense.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// Matrices of a tensor behind a change of layout.
struct Matrices {
  Shape shape;
  size_t strides[Shape::kMaxRank] = {};
  bool is_contiguous = true;

  size_t rows() const { return static_cast<size_t>(shape.dims[shape.rank - 2]); }
  size_t columns() const { return static_cast<size_t>(shape.dims[shape.rank - 1]); }
  size_t row_stride() const { return strides[shape.rank - 2]; }
  size_t column_stride() const { return strides[shape.rank - 1]; }

  void set_dimension(size_t d, uint64_t size, size_t stride) {
    shape.dims[d] = size;
    strides[d] = stride;
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
    result.set_dimension(d, from.dims[order[d]], strides[order[d]]);
    result.is_contiguous = result.is_contiguous && order[d] == d;
  }
  return result;
}

/// Matrices whose elements are stored in the layout that `order` makes of them.
Matrices stored_as(const Shape& stored, const uint8_t* order) {
  Matrices result;
  result.shape.rank = stored.rank;
  size_t stride = 1;
  for (size_t d = stored.rank; d-- > 0;) {
    result.set_dimension(order[d], stored.dims[d], stride);
    result.is_contiguous = result.is_contiguous && order[d] == d;
    stride *= static_cast<size_t>(stored.dims[d]);
  }
  return result;
}

/// The strides of matrices in a batch: broadcast to it or, without a change of layout, of other
/// dimensions and as many matrices. False where they are neither.
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
  Shape own = from.shape;
  own.rank = rank;
  size_t stride = from.rows() * from.columns();
  for (size_t d = batch.rank; d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<size_t>(batch.dims[d]);
  }
  return from.is_contiguous && elements(own) == elements(batch);
}

class Attention final : public EngineOperator {
 public:
  Attention(const Node& node, const OperatorContext& context)
      : EngineOperator(node.precision == engine::Precision::BFloat16
                           ? "Scaled Dot-Product Attention (NHTC, BF16)"
                           : "Scaled Dot-Product Attention (NHTC, F32)",
                       context),
        attention_(node.attention) {
    call_.precision = node.precision;
    call_.scale = attention_.scale;
  }

  Error reshape(const Tensors& t) override {
    const Shape& scores = *t.unfused.shape;
    const Matrices q = operand_of(t, FusedAttention::kQuery);
    const Matrices k = operand_of(t, FusedAttention::kKey);
    const Matrices v = operand_of(t, FusedAttention::kValue);
    const Matrices out = stored_as(*t.results[0].shape, attention_.orders[FusedAttention::kResult]);
    const bool k_rows = attention_.keys_are_rows, v_columns = attention_.values_are_columns;
    batch_ = out.shape.rank == scores.rank ? out.shape : scores;
    batch_.rank -= 2;
    call_.batch_rank = batch_.rank;
    std::copy_n(batch_.dims, batch_.rank, sizes_);
    call_.queries = out.rows();
    call_.value_channels = out.columns();
    call_.keys = static_cast<size_t>(scores.dims[scores.rank - 1]);
    call_.channels = q.columns();
    const size_t k_positions = k_rows ? k.rows() : k.columns();
    const bool fits =
        batch_strides(q, batch_, strides_[0]) && batch_strides(k, batch_, strides_[1]) &&
        batch_strides(v, batch_, strides_[2]) && batch_strides(out, batch_, strides_[4]) &&
        scores.dims[scores.rank - 2] == call_.queries && is_broadcast(q.rows(), call_.queries) &&
        is_broadcast(k_positions, call_.keys) &&
        (k_rows ? k.columns() : k.rows()) == call_.channels &&
        (v_columns ? v.columns() : v.rows()) == call_.keys;
    if (!fits || !set_mask(t, scores)) {
      return Error::InvalidArgument;
    }
    call_.batch_sizes = sizes_;
    call_.query = {nullptr, strides_[0], q.rows() == 1 ? 0 : q.row_stride(), 1};
    call_.key = {nullptr, strides_[1], k_rows ? k.row_stride() : k.column_stride(),
                 k_rows ? k.column_stride() : k.row_stride()};
    if (k_positions == 1) {
      call_.key.position_stride = 0;
    }
    call_.value = {nullptr, strides_[2], v_columns ? v.column_stride() : v.row_stride(),
                   v_columns ? v.row_stride() : v.column_stride()};
    call_.out_batch_strides = strides_[4];
    call_.out_position_stride = out.row_stride();
    set_scratch(engine::dense_attention_scratch_bytes(call_, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    call_.query.data = operand(FusedAttention::kQuery);
    call_.key.data = operand(FusedAttention::kKey);
    call_.value.data = operand(FusedAttention::kValue);
    call_.mask.data = operand(FusedAttention::kMask);
    call_.out = result();
    engine::dense_attention(call_, scratch(), threads());
    return Error::Ok;
  }

 private:
  Matrices operand_of(const Tensors& t, size_t which) const {
    return matrices_of(*t.operands[which].shape, attention_.orders[which]);
  }

  static bool is_broadcast(size_t size, size_t to) { return size == 1 || size == to; }

  /// The mask's strides in the batch; false if it does not fit.
  bool set_mask(const Tensors& t, const Shape& scores) {
    if (!t.operands[FusedAttention::kMask]) {
      return true;
    }
    Shape all = batch_, sum;
    all.dims[all.rank++] = scores.dims[scores.rank - 2];
    all.dims[all.rank++] = scores.dims[scores.rank - 1];
    const Shape& mask = *t.operands[FusedAttention::kMask].shape;
    if (!broadcast(mask, all, &sum) || sum.rank != all.rank ||
        !std::equal(sum.dims, sum.dims + sum.rank, all.dims)) {
      return false;
    }
    broadcast_strides(mask, all, strides_[3]);
    call_.mask = {nullptr, strides_[3], strides_[3][batch_.rank], strides_[3][batch_.rank + 1]};
    return true;
  }

  FusedAttention attention_;
  Shape batch_;
  engine::DenseAttentionCall call_;
  size_t sizes_[Shape::kMaxRank];
  /// Of queries, keys, values, the mask and results.
  size_t strides_[5][Shape::kMaxRank];
};

}  // namespace

OperatorResult create_attention(const Node& node, const OperatorContext& context) {
  return std::unique_ptr<Operator>(std::make_unique<Attention>(node, context));
}

}  // namespace executorch::backends::xnnpack
