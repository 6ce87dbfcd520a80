// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Scaled dot product attention over the keys that exist, without the matrix of scores:
//
//   out[i] = sum over j of softmax(scale * query[i] . key[j] + mask[i, j]) * value[j]
//
// Each block of keys is read once; maximum, sum and result of each query are corrected from block
// to block (online softmax). Query heads that share a key head are rows of one block, so keys are
// neither repeated nor read again. Results have the same bits on any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

enum class AttentionType : uint8_t { Float, Half, BFloat16, Int8 };

/// A tensor of [batch, position, head, channel]; channels are contiguous. Strides count elements.
struct AttentionTensor {
  const void* data = nullptr;
  AttentionType type = AttentionType::Float;
  int64_t batch_stride = 0, position_stride = 0, head_stride = 0;
  /// Int8 only: number = (integer - zero_point) * scale. Each position and head has a scale and a
  /// zero point, at the strides below.
  const float* scales = nullptr;
  const int8_t* zero_points = nullptr;
  int64_t parameter_batch_stride = 0, parameter_position_stride = 0, parameter_head_stride = 0;
};

struct AttentionCall {
  AttentionTensor query, key, value;
  void* out = nullptr;
  /// Float, Half or BFloat16.
  AttentionType out_type = AttentionType::Float;
  int64_t out_batch_stride = 0, out_position_stride = 0, out_head_stride = 0;
  int64_t batch = 0, queries = 0, keys = 0;
  /// heads is a multiple of key_heads; query head h reads key head h / (heads / key_heads).
  int64_t heads = 0, key_heads = 0;
  int64_t channels = 0;
  float scale = 1;
  /// [queries, keys], added to the scores; null: nothing is added. A query whose scores are all
  /// -infinity gives zeros.
  const float* mask = nullptr;
  int64_t mask_stride = 0;
  /// Query i sees keys 0 … first_position + i; without `is_causal`, all of them.
  bool is_causal = false;
  int64_t first_position = 0;
};

/// Bytes of scratch memory that attend() needs, which may be more than size_t can count.
int64_t attention_scratch(const AttentionCall& call, size_t workers);

/// Computes the call. `scratch` has attention_scratch(call, threads.count()) bytes, aligned to 64.
void attend(const AttentionCall& call, Threads& threads, void* scratch,
            InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
