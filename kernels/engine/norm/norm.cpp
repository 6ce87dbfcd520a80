// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/norm/norm.h>

#include <executorch/kernels/engine/threads.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/norm/rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

void layer_norm(const NormCall& call, Threads& threads, InstructionSet set) {
  for_each_rows(threads, call, ET_SIMD_FUNCTION(set, layer_norm_rows));
}

void rms_norm(const NormCall& call, Threads& threads, InstructionSet set) {
  for_each_rows(threads, call, ET_SIMD_FUNCTION(set, rms_norm_rows));
}

void group_norm(const GroupNormCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_SIMD_FUNCTION(set, group_norm_rows);
  for_each_rows(threads, call.rows.rows, call.rows.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

}  // namespace executorch::kernels::engine
