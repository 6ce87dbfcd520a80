// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Attention of float32 as two products of packed operands:
//
//   scores[i, j] = scale * (sum over d of query[i, d] * key[j, d]) + mask[i, j],
//                  or a given score where a boolean says so
//   out[i, c] = (sum over j of exp(scores[i, j] - most[i]) * value[j, c]) / sum[i]
//   most[i] = max over j of scores[i, j];  sum[i] = sum over j of exp(scores[i, j] - most[i])
//
// Blocks of keys and values are packed one after the other; each adds to the results of all blocks
// of queries, which are rescaled to the new maximum (online softmax). Memory does not depend on the
// number of keys, and grows by 8 bytes for each query. attention.h is for few queries and for other
// types.
// A query with NaN or +infinity among its scores gives NaN, as does one whose scores are all
// -infinity. Any size may be 0; without keys, results are 0. Results have the same bits on any
// number of threads. `out` must not overlap an operand.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/precision.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// Strides count floats; batch_strides has one for each dimension of the batch, 0 to broadcast.
struct DenseOperand {
  const float* data = nullptr;
  const size_t* batch_strides = nullptr;
  size_t position_stride = 0;  ///< from query to query, or from key to key
  size_t channel_stride = 1;   ///< 1 in queries
};

/// Booleans (bytes) that select the scores to replace; null: none. Strides as those of a mask.
struct ReplacedScores {
  const uint8_t* data = nullptr;
  const size_t* batch_strides = nullptr;
  size_t position_stride = 0, channel_stride = 0;
  bool replaces_true = true;  ///< which booleans replace scores
  float score = 0;
};

struct DenseAttentionCall {
  size_t batch_rank = 0;
  const size_t* batch_sizes = nullptr;
  size_t queries = 0, keys = 0, channels = 0, value_channels = 0;
  DenseOperand query, key, value;
  float scale = 1;
  /// Null: nothing is added. position_stride is from query to query, channel_stride from key to
  /// key; each may be 0.
  DenseOperand mask;
  ReplacedScores replaced;
  float* out = nullptr;
  const size_t* out_batch_strides = nullptr;
  size_t out_position_stride = 0;
  /// The factors of both products may be rounded to it.
  Precision precision = Precision::Float32;
};

/// The precision of the factors of scores or results: Float32 if the permitted one saves no time.
Precision dense_attention_precision(const DenseAttentionCall& call,
                                    InstructionSet set = instruction_set());
/// Bytes of scratch memory, aligned to kAlignment, for a call on `threads` threads.
size_t dense_attention_scratch_bytes(const DenseAttentionCall& call, size_t threads,
                                     InstructionSet set = instruction_set());
void dense_attention(const DenseAttentionCall& call, void* scratch, Threads& threads,
                     InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
