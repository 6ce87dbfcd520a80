// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/attention/dense.h>

#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/attention/weights.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack_panels.h>
#include <executorch/kernels/engine/simd/float_math.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/attention/weights.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// Scores of a block of queries: they stay in the second-level cache between the products.
constexpr size_t kScoreFloats = size_t{32} << 10;
/// Queries of a block: whole tiles.
constexpr size_t kMinQueries = 12, kMaxQueries = 60;
constexpr size_t kLineFloats = kAlignment / sizeof(float);

/// One of the two products: its tiles, and the floats of its operands.
struct Side {
  const GemmTiles* tiles;
  size_t columns, words;  ///< words: of depth

  Side(const DenseAttentionCall& call, size_t all_columns, size_t depth, InstructionSet set)
      : tiles(&gemm_tiles(set, precision_that_gains(call.precision, all_columns, depth))),
        columns(all_columns),
        words(tiles->words(depth)) {}
  bool is_narrow() const { return tiles->precision == Precision::BFloat16; }
  size_t packed_floats() const {
    return round_up(divide_up(columns, tiles->panel) * panel_floats(*tiles, words), kLineFloats);
  }
  size_t narrowed_floats(size_t rows) const {
    return is_narrow() ? round_up(rows * words, kLineFloats) : 0;
  }
};

/// The scratch memory of a worker.
struct Layout {
  Side scores, results;
  size_t queries, score_stride;

  Layout(const DenseAttentionCall& call, InstructionSet set)
      : scores(call, call.keys, call.channels, set),
        results(call, call.value_channels, call.keys, set),
        queries(std::min(call.queries, std::clamp(kScoreFloats / std::max(call.keys, size_t{1}) /
                                                      kMinQueries * kMinQueries,
                                                  kMinQueries, kMaxQueries))),
        score_stride(round_up(call.keys, kLineFloats)) {}
  size_t score_floats() const { return queries * score_stride; }
  size_t factor_floats() const { return round_up(queries, kLineFloats); }
  size_t narrowed_floats() const {
    return std::max(scores.narrowed_floats(queries), results.narrowed_floats(queries));
  }
  size_t worker_floats() const {
    return scores.packed_floats() + results.packed_floats() + score_floats() + factor_floats() +
           narrowed_floats();
  }
};

struct Offsets {
  size_t query = 0, key = 0, value = 0, mask = 0, out = 0;
};

Offsets offsets_of(const DenseAttentionCall& call, size_t index) {
  Offsets at;
  for (size_t d = call.batch_rank; d-- > 0;) {
    const size_t coordinate = index % call.batch_sizes[d];
    index /= call.batch_sizes[d];
    at.query += coordinate * call.query.batch_strides[d];
    at.key += coordinate * call.key.batch_strides[d];
    at.value += coordinate * call.value.batch_strides[d];
    at.out += coordinate * call.out_batch_strides[d];
    if (call.mask.data != nullptr) at.mask += coordinate * call.mask.batch_strides[d];
  }
  return at;
}

void pack(const Side& side, const RightMatrix& right, size_t depth, float* to) {
  const size_t panel = side.tiles->panel;
  for (size_t c = 0; c < side.columns; c += panel) {
    const RightMatrix at = {right.data + c * right.column_stride, right.depth_stride,
                            right.column_stride};
    pack_panel(*side.tiles, at, nullptr, std::min(panel, side.columns - c), depth, to);
    to += panel_floats(*side.tiles, side.words);
  }
}

/// Rows of the left operand times packed columns.
void multiply(const Side& side, const float* left, size_t stride, size_t rows, size_t depth,
              float* narrowed, const float* packed, float* out, size_t out_stride) {
  Product product;
  product.tiles = side.tiles;
  product.rows = rows;
  product.columns = side.columns;
  product.depth = side.words;
  product.left = left;
  product.left_stride = stride * sizeof(float);
  if (side.is_narrow()) {
    CallingThread alone;
    narrow_rows({left, rows, stride, 1, depth, narrowed}, alone);
    product.left = narrowed;
    product.left_stride = side.words * sizeof(float);
  }
  product.packed = packed;
  product.out = out;
  product.out_stride = out_stride * sizeof(float);
  product.clamp_min = -INFINITY;
  product.clamp_max = INFINITY;
  run_product(product);
}

/// How many queries an item has: all, unless threads would have too little to share.
size_t queries_of_item(const DenseAttentionCall& call, size_t batch, size_t threads) {
  if (threads == 1 || batch >= 2 * threads) return call.queries;
  return divide_up(call.queries, divide_up(2 * threads, batch));
}

}  // namespace

size_t dense_attention_scratch_bytes(const DenseAttentionCall& call, size_t threads,
                                     InstructionSet set) {
  return threads * Layout(call, set).worker_floats() * sizeof(float);
}

void dense_attention(const DenseAttentionCall& call, void* scratch, Threads& threads,
                     InstructionSet set) {
  size_t batch = 1;
  for (size_t d = 0; d < call.batch_rank; ++d) batch *= call.batch_sizes[d];
  if (batch == 0 || call.queries == 0 || call.value_channels == 0) return;
  const Layout layout(call, set);
  const auto weigh = ET_SIMD_FUNCTION(set, weigh_rows);
  const auto scale = ET_SIMD_FUNCTION(set, scale_rows);
  const size_t each = queries_of_item(call, batch, threads.count());
  const size_t parts = divide_up(call.queries, each);
  for_each_item(threads, batch * parts, [&](size_t item, size_t worker) {
    const Offsets at = offsets_of(call, item / parts);
    float* const keys = static_cast<float*>(scratch) + worker * layout.worker_floats();
    float* const values = keys + layout.scores.packed_floats();
    float* const scores = values + layout.results.packed_floats();
    float* const factors = scores + layout.score_floats();
    float* const narrowed = factors + layout.factor_floats();
    pack(layout.scores, {call.key.data + at.key, call.key.channel_stride, call.key.position_stride},
         call.channels, keys);
    pack(layout.results,
         {call.value.data + at.value, call.value.position_stride, call.value.channel_stride},
         call.keys, values);
    const size_t end = std::min((item % parts + 1) * each, call.queries);
    for (size_t query = item % parts * each; query < end; query += layout.queries) {
      const size_t rows = std::min(layout.queries, end - query);
      multiply(layout.scores, call.query.data + at.query + query * call.query.position_stride,
               call.query.position_stride, rows, call.channels, narrowed, keys, scores,
               layout.score_stride);
      const float* const mask = call.mask.data == nullptr
                                    ? nullptr
                                    : call.mask.data + at.mask + query * call.mask.position_stride;
      const ScoreRows block = {scores,
                               rows,
                               call.keys,
                               layout.score_stride,
                               call.scale,
                               mask,
                               call.mask.position_stride,
                               call.mask.channel_stride,
                               factors};
      weigh(&block);
      float* const out = call.out + at.out + query * call.out_position_stride;
      multiply(layout.results, scores, layout.score_stride, rows, call.keys, narrowed, values, out,
               call.out_position_stride);
      scale(out, rows, call.value_channels, call.out_position_stride, factors);
    }
  });
}

}  // namespace executorch::kernels::engine
