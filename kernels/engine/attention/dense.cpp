// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/attention/dense.h>

#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/attention/weights.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>
#include <executorch/kernels/engine/scratch_size.h>
#include <executorch/kernels/engine/simd/float_math.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/attention/weights.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// Keys of a block: with their values, and the scores of a block of queries, they stay in the
/// second-level cache.
constexpr size_t kMaxKeys = 512;
constexpr size_t kScoreFloats = size_t{32} << 10;
/// Queries of a block: whole tiles.
constexpr size_t kMinQueries = 12, kMaxQueries = 60;
constexpr size_t kLineFloats = kAlignment / sizeof(float);
/// Each part of a worker's memory: their sum does not wrap around.
constexpr size_t kMaxPart = kMaxScratch / 8;

/// Blocks of nearly equal size. All except the last one consist of whole panels.
size_t keys_of_block(size_t keys) {
  const size_t blocks = std::max(divide_up(keys, kMaxKeys), size_t{1});
  return std::max(round_up(divide_up(keys, blocks), 2 * kLineFloats), 2 * kLineFloats);
}

/// One of the two products: its tiles, and the floats of its operands.
struct Side {
  const GemmTiles* tiles;
  size_t columns, words;  ///< words: of depth, at most

  Side(const DenseAttentionCall& call, size_t all_columns, size_t depth, InstructionSet set)
      : tiles(&gemm_tiles(set, profitable_precision(call.precision, all_columns, depth))),
        columns(all_columns),
        words(tiles->words(depth)) {}
  bool is_narrow() const { return tiles->precision == Precision::BFloat16; }
  size_t packed_floats() const {
    // Panels of panel_floats(*tiles, words).
    const size_t padded = round_up(columns, tiles->panel);
    return round_up(limited_product(padded, 1 + words, kMaxPart), kLineFloats);
  }
  size_t narrowed_floats(size_t rows) const {
    return is_narrow() ? round_up(limited_product(rows, words, kMaxPart), kLineFloats) : 0;
  }
};

/// The scratch memory of a worker.
struct Layout {
  size_t keys;  ///< of a block; the last one may have fewer
  Side scores, results;
  size_t queries, score_stride, all_queries;

  Layout(const DenseAttentionCall& call, InstructionSet set)
      : keys(std::min(keys_of_block(call.keys), call.keys)),
        scores(call, keys, call.channels, set),
        results(call, call.value_channels, keys, set),
        queries(std::min(call.queries, std::clamp(kScoreFloats / std::max(keys, size_t{1}) /
                                                      kMinQueries * kMinQueries,
                                                  kMinQueries, kMaxQueries))),
        score_stride(round_up(keys, kLineFloats)),
        all_queries(round_up(call.queries, kLineFloats)) {}
  size_t score_floats() const { return queries * score_stride; }
  size_t factor_floats() const { return round_up(queries, kLineFloats); }
  size_t narrowed_floats() const {
    return std::max(scores.narrowed_floats(queries), results.narrowed_floats(queries));
  }
  size_t worker_floats() const {
    return scores.packed_floats() + results.packed_floats() + score_floats() + factor_floats() +
           narrowed_floats() + 2 * all_queries;
  }
};

struct Offsets {
  size_t query = 0, key = 0, value = 0, mask = 0, replaced = 0, out = 0;
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
    if (call.replaced.data != nullptr) at.replaced += coordinate * call.replaced.batch_strides[d];
  }
  return at;
}

/// Queries of an item: all, unless that leaves too few items for the threads.
size_t queries_of_item(const DenseAttentionCall& call, size_t batch, size_t threads) {
  if (threads == 1 || batch >= 2 * threads) return call.queries;
  return divide_up(call.queries, divide_up(2 * threads, batch));
}

/// Queries of one element of the batch, block by block of keys.
class Item final {
 public:
  Item(const DenseAttentionCall& call, const Layout& layout, const Offsets& at, float* scratch,
       InstructionSet set)
      : call_(call),
        layout_(layout),
        at_(at),
        keys_(scratch),
        values_(keys_ + layout.scores.packed_floats()),
        scores_(values_ + layout.results.packed_floats()),
        factors_(scores_ + layout.score_floats()),
        largest_(factors_ + layout.factor_floats()),
        sums_(largest_ + layout.all_queries),
        narrowed_(sums_ + layout.all_queries),
        weigh_(ET_SIMD_FUNCTION(set, weigh_rows)),
        scale_(ET_SIMD_FUNCTION(set, scale_rows)) {}

  void run(size_t begin, size_t end) {
    for (size_t key = 0; key == 0 || key < call_.keys; key += layout_.keys) {
      const size_t count = std::min(layout_.keys, call_.keys - key);
      pack_block(key, count);
      for (size_t query = begin; query < end; query += layout_.queries) {
        add_keys(query, std::min(layout_.queries, end - query), query - begin, key, count);
      }
      if (layout_.keys == 0) break;
    }
    for (size_t query = begin; query < end; ++query) {
      const float factor = call_.keys == 0 ? 0.0f : 1.0f / sums_[query - begin];
      scale_(out_of(query), 1, call_.value_channels, 0, &factor);
    }
  }

 private:
  float* out_of(size_t query) const {
    return call_.out + at_.out + query * call_.out_position_stride;
  }

  void pack_block(size_t key, size_t count) {
    const DenseOperand &k = call_.key, &v = call_.value;
    pack_panels(*layout_.scores.tiles,
                {k.data + at_.key + key * k.position_stride, k.channel_stride, k.position_stride},
                nullptr, count, call_.channels, keys_);
    pack_panels(*layout_.results.tiles,
                {v.data + at_.value + key * v.position_stride, v.position_stride, v.channel_stride},
                nullptr, call_.value_channels, count, values_);
  }

  /// Adds a block of keys to the results of a block of queries.
  void add_keys(size_t query, size_t rows, size_t row, size_t key, size_t count) {
    const size_t stride = layout_.score_stride, panel = layout_.scores.tiles->panel;
    Product first = product_of(layout_.scores, rows, call_.channels);
    // Whole panels, whose last columns are zeros, are faster than parts.
    first.columns = std::min(stride, round_up(count, panel));
    first.packed = keys_;
    first.out = scores_;
    first.out_stride = stride * sizeof(float);
    multiply(first, call_.query.data + at_.query + query * call_.query.position_stride,
             call_.query.position_stride, call_.channels);
    const DenseOperand& mask = call_.mask;
    const size_t mask_at = at_.mask + query * mask.position_stride + key * mask.channel_stride;
    const ReplacedScores& replaced = call_.replaced;
    const size_t replaced_at =
        at_.replaced + query * replaced.position_stride + key * replaced.channel_stride;
    const ScoreRows block = {scores_,
                             rows,
                             count,
                             stride,
                             call_.scale,
                             mask.data == nullptr ? nullptr : mask.data + mask_at,
                             mask.position_stride,
                             mask.channel_stride,
                             replaced.data == nullptr ? nullptr : replaced.data + replaced_at,
                             replaced.position_stride,
                             replaced.channel_stride,
                             replaced.replaces_true,
                             replaced.score,
                             key == 0,
                             largest_ + row,
                             sums_ + row,
                             factors_};
    weigh_(&block);
    Product second = product_of(layout_.results, rows, count);
    second.columns = call_.value_channels;
    second.packed = values_;
    second.out = out_of(query);
    second.out_stride = call_.out_position_stride * sizeof(float);
    if (key != 0) {
      scale_(second.out, rows, second.columns, call_.out_position_stride, factors_);
      second.residual = second.out;
    }
    multiply(second, scores_, stride, count);
  }

  static Product product_of(const Side& side, size_t rows, size_t depth) {
    Product product;
    product.tiles = side.tiles;
    product.rows = rows;
    product.depth = side.tiles->words(depth);
    return product;
  }

  void multiply(Product& product, const float* left, size_t stride, size_t depth) {
    product.left = left;
    product.left_stride = stride * sizeof(float);
    if (product.tiles->precision == Precision::BFloat16) {
      CallingThread alone;
      narrow_rows({left, product.rows, stride, 1, depth, narrowed_}, alone);
      product.left = narrowed_;
      product.left_stride = product.depth * sizeof(float);
    }
    run_product(product);
  }

  const DenseAttentionCall& call_;
  const Layout& layout_;
  const Offsets at_;
  float *const keys_, *const values_, *const scores_, *const factors_, *const largest_,
                                                                           *const sums_,
                                                                               *const narrowed_;
  void (*const weigh_)(const ScoreRows*);
  void (*const scale_)(float*, size_t, size_t, size_t, const float*);
};

}  // namespace

Precision dense_attention_precision(const DenseAttentionCall& call, InstructionSet set) {
  const Layout layout(call, set);
  return std::max(layout.scores.tiles->precision, layout.results.tiles->precision);
}

size_t dense_attention_scratch_bytes(const DenseAttentionCall& call, size_t threads,
                                     InstructionSet set) {
  return limited_product(threads,
                         limited_product(Layout(call, set).worker_floats(), sizeof(float)));
}

void dense_attention(const DenseAttentionCall& call, void* scratch, Threads& threads,
                     InstructionSet set) {
  size_t batch = 1;
  for (size_t d = 0; d < call.batch_rank; ++d) batch *= call.batch_sizes[d];
  if (batch == 0 || call.queries == 0 || call.value_channels == 0) return;
  const Layout layout(call, set);
  const size_t item_queries = queries_of_item(call, batch, threads.count());
  const size_t parts = divide_up(call.queries, item_queries);
  for_each_item(threads, batch * parts, [&](size_t item, size_t worker) {
    const size_t begin = item % parts * item_queries;
    float* const memory = static_cast<float*>(scratch) + worker * layout.worker_floats();
    Item(call, layout, offsets_of(call, item / parts), memory, set)
        .run(begin, std::min(begin + item_queries, call.queries));
  });
}

}  // namespace executorch::kernels::engine
