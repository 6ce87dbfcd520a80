// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/softmax/softmax.h>

#include <executorch/kernels/engine/threads.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/softmax/rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

void softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set) {
  for_each_rows(threads, call, ET_SIMD_FUNCTION(set, softmax_rows));
}

void log_softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set) {
  for_each_rows(threads, call, ET_SIMD_FUNCTION(set, log_softmax_rows));
}

}  // namespace executorch::kernels::engine
