// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/attention/attention.h>

#include <cstring>
#include <type_traits>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack/pack_avx512.h>
#include <executorch/kernels/engine/pack/transpose_block.h>
#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>

namespace executorch::kernels::engine {

namespace {

/// Keys of one task when queries are few. A task reads its keys for all heads in the order of
/// memory, so that they stay in the cache. Fixed, so that the order of sums does not depend on the
/// number of threads.
constexpr int64_t kChunkKeys = 64;
/// More queries than this give enough tasks without dividing the keys.
constexpr int64_t kMaxSplitQueries = 4;

constexpr int64_t kBlockKeys = 64;
/// Rows of queries whose products stay in registers.
constexpr int64_t kTileRows = 6;
/// Rows of queries that pass a block of keys together: whole tiles, for groups of 1 to 6 as well.
constexpr int64_t kMaxRows = 60;
constexpr int64_t kRowAlignment = 16;
/// With fewer rows, transposing the keys costs more than it saves.
constexpr int64_t kTransposedRows = 8;

/// How a call is divided into tasks of (batch, key head, queries, keys).
struct Division {
  int64_t key_heads, group, padded, block_queries, query_blocks, chunks, rows;
  /// Few queries whose rows need no padding: run_step() takes all heads together.
  bool is_step;

  explicit Division(const AttentionCall& call) {
    key_heads = call.key_heads;
    group = call.heads / key_heads;
    padded = round_up(call.channels, kRowAlignment);
    block_queries = group >= kMaxRows ? 1 : kMaxRows / group;
    block_queries = call.queries < block_queries ? call.queries : block_queries;
    query_blocks = divide_up(call.queries, block_queries);
    chunks = call.queries <= kMaxSplitQueries ? divide_up(call.keys, kChunkKeys) : 1;
    rows = block_queries * group;
    is_step = call.queries <= kMaxSplitQueries && padded == call.channels;
  }
  int64_t tasks(const AttentionCall& call) const {
    return call.batch * call.key_heads * query_blocks * chunks;
  }
  /// Floats of the result of a task: rows of channels, then their maxima, then their sums.
  int64_t partial() const { return round_up(rows * (padded + 2), kRowAlignment); }
  /// Floats that a worker needs besides results: queries, scores, keys, transposed keys, values.
  int64_t buffers() const {
    return is_step ? key_heads * rows * (padded + kBlockKeys)
                   : rows * (padded + kBlockKeys) + 3 * kBlockKeys * padded;
  }
};

struct Task {
  int64_t batch, key_head, first_query, queries, first_key, last_key;
};

Task task_at(const AttentionCall& call, const Division& division, int64_t index) {
  Task task;
  const int64_t chunk = index % division.chunks;
  index /= division.chunks;
  // The last queries see the most keys, so their tasks begin first.
  const int64_t block = division.query_blocks - 1 - index % division.query_blocks;
  index /= division.query_blocks;
  task.key_head = index % call.key_heads;
  task.batch = index / call.key_heads;
  task.first_query = block * division.block_queries;
  const int64_t left = call.queries - task.first_query;
  task.queries = left < division.block_queries ? left : division.block_queries;
  task.first_key = division.chunks == 1 ? 0 : chunk * kChunkKeys;
  task.last_key = division.chunks == 1 ? call.keys : task.first_key + kChunkKeys;
  const int64_t seen =
      call.is_causal ? call.first_position + task.first_query + task.queries : call.keys;
  const int64_t end = seen < call.keys ? seen : call.keys;
  task.last_key = task.last_key < end ? task.last_key : end;
  return task;
}

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/attention/step.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

void store_row(const AttentionCall& call, int64_t batch, int64_t query, int64_t head,
               const float* row, float factor) {
  const int64_t first = batch * call.out_batch_stride + query * call.out_position_stride +
                        head * call.out_head_stride;
  switch (call.out_type) {
    case AttentionType::Half: {
      auto* const to = static_cast<runtime::etensor::Half*>(call.out) + first;
      for (int64_t i = 0; i < call.channels; ++i) to[i] = runtime::etensor::Half(row[i] * factor);
      break;
    }
    case AttentionType::BFloat16: {
      auto* const to = static_cast<runtime::etensor::BFloat16*>(call.out) + first;
      for (int64_t i = 0; i < call.channels; ++i) {
        to[i] = runtime::etensor::BFloat16(row[i] * factor);
      }
      break;
    }
    default: {
      float* const to = static_cast<float*>(call.out) + first;
      for (int64_t i = 0; i < call.channels; ++i) to[i] = row[i] * factor;
    }
  }
}

/// Stores the results of one task.
void store_rows(const AttentionCall& call, const Division& division, const Task& task,
                const float* partial) {
  const float* const sums = partial + division.rows * (division.padded + 1);
  for (int64_t row = 0; row < task.queries * division.group; ++row) {
    store_row(call, task.batch, task.first_query + row / division.group,
              task.key_head * division.group + row % division.group,
              partial + row * division.padded, sums[row] == 0 ? 0.0f : 1.0f / sums[row]);
  }
}

size_t bytes_of(AttentionType type) {
  return type == AttentionType::Float ? 4 : type == AttentionType::Int8 ? 1 : 2;
}

/// Requests the rows of a chunk in the order of memory. Reads head by head would have strides that
/// hardware prefetchers do not follow.
void prefetch(const AttentionCall& call, const AttentionTensor& tensor, int64_t batch,
              int64_t first, int64_t last) {
  if (tensor.head_stride >= tensor.position_stride) return;
  const size_t size = bytes_of(tensor.type);
  const size_t row = size_t(call.key_heads * tensor.head_stride) * size;
  for (int64_t key = first; key < last; ++key) {
    const char* const from =
        static_cast<const char*>(tensor.data) +
        size_t(batch * tensor.batch_stride + key * tensor.position_stride) * size;
    for (size_t i = 0; i < row; i += 64) __builtin_prefetch(from + i, 0, 2);
  }
}

}  // namespace

int64_t attention_scratch(const AttentionCall& call, size_t workers) {
  const Division division(call);
  const bool is_whole = division.chunks == 1 && !division.is_step;
  const int64_t own = division.buffers() + (is_whole ? division.partial() : 0);
  const int64_t kept = is_whole ? 0 : division.partial() * division.tasks(call);
  return (own * int64_t(workers) + kept) * int64_t(sizeof(float));
}

void attend(const AttentionCall& call, Threads& threads, void* scratch, InstructionSet set) {
  const Division division(call);
  const auto run = ET_SIMD_FUNCTION(set, run_task);
  float* const buffers = static_cast<float*>(scratch);
  if (division.chunks == 1 && !division.is_step) {
    const int64_t own = division.buffers() + division.partial();
    for_each_item(threads, size_t(division.tasks(call)), [&](size_t index, size_t worker) {
      const Task task = task_at(call, division, int64_t(index));
      float* const place = buffers + own * int64_t(worker);
      float* const partial = place + division.buffers();
      run(&call, &division, &task, partial, place);
      store_rows(call, division, task, partial);
    });
    return;
  }
  const auto step = ET_SIMD_FUNCTION(set, run_step);
  float* const kept = buffers + division.buffers() * int64_t(threads.count());
  const int64_t blocks = call.key_heads * division.query_blocks;
  const int64_t head_partials = division.partial() * division.query_blocks * division.chunks;
  for_each_item(threads, size_t(call.batch * division.chunks), [&](size_t item, size_t worker) {
    const int64_t batch = int64_t(item) / division.chunks;
    const int64_t chunk = int64_t(item) % division.chunks;
    float* const place = buffers + division.buffers() * int64_t(worker);
    for (int64_t block = 0; block < (division.is_step ? division.query_blocks : blocks); ++block) {
      const int64_t index = (batch * blocks + block) * division.chunks + chunk;
      const Task task = task_at(call, division, index);
      float* const partial = kept + division.partial() * index;
      if (division.is_step) {
        step(&call, &division, &task, partial, head_partials, place);
        continue;
      }
      if (block == 0) {
        prefetch(call, call.key, batch, task.first_key, task.last_key);
        prefetch(call, call.value, batch, task.first_key, task.last_key);
      }
      run(&call, &division, &task, partial, place);
    }
  });
  const auto add = ET_SIMD_FUNCTION(set, add_chunks);
  for_each_item(threads, size_t(call.batch * blocks), [&](size_t index, size_t) {
    const int64_t first = int64_t(index) * division.chunks;
    const Task task = task_at(call, division, first);
    float* const partial = kept + division.partial() * first;
    add(&division, task.queries * division.group, partial);
    store_rows(call, division, task, partial);
  });
}

}  // namespace executorch::kernels::engine
