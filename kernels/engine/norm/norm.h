// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Norms of contiguous rows of float32. `out` may be `in`, else they must not overlap. A row with
// NaN or infinity becomes NaN. rows may be 0; length is at least 1.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct NormCall {
  const float* in = nullptr;
  float* out = nullptr;
  size_t rows = 0, length = 0;
  /// For each element of a row; null for none.
  const float *weight = nullptr, *bias = nullptr;
  float epsilon = 0;
  /// One for each row; null to omit them.
  float *mean = nullptr, *rstd = nullptr;
};

/// out = (in - mean(row)) * rstd(row) * weight + bias, rstd = 1 / sqrt(variance(row) + epsilon)
void layer_norm(const NormCall& call, Threads& threads, InstructionSet set = instruction_set());

/// out = in * rstd(row) * weight, rstd = 1 / sqrt(mean of squares(row) + epsilon). The call has
/// neither bias nor mean. An infinity becomes NaN, and the rest of its row 0.
void rms_norm(const NormCall& call, Threads& threads, InstructionSet set = instruction_set());

/// Layer norm of groups of channels in NCHW: row r is group r % groups, `length` is
/// channels_per_group * plane, weight and bias have one number a channel (groups *
/// channels_per_group).
struct GroupNormCall {
  NormCall rows;
  size_t groups = 1, channels_per_group = 1, plane = 1;
};
void group_norm(const GroupNormCall& call, Threads& threads,
                InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
