// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax of rows of float32:
//
//   softmax(x)[i] = exp(x[i] - max(x)) / sum of exp(x - max(x));  log_softmax is its logarithm
//
// A row with NaN or +infinity becomes NaN, as does a row that has only -infinity. `out` may be
// `in`.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct SoftmaxCall {
  const float* in = nullptr;
  float* out = nullptr;
  size_t rows = 0, length = 0;
  size_t in_stride = 0, out_stride = 0;  ///< floats from row to row
};

void softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set = instruction_set());
void log_softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
