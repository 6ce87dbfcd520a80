// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/softmax/softmax.h>

#include <executorch/kernels/engine/threads.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/softmax/rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

void softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_SIMD_FUNCTION(set, softmax_rows);
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

void log_softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_SIMD_FUNCTION(set, log_softmax_rows);
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

}  // namespace executorch::kernels::engine
