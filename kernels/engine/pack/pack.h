// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copies that change the order of dimensions. Sizes count elements of 32 bits, moved unchanged.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// out[b, c, r] = in[b, r, c]; both contiguous. NCHW -> NHWC: rows = channels, columns = height *
/// width; the reverse: rows = height * width, columns = channels. The memory must not overlap.
struct TransposeCall {
  size_t batch = 1, rows = 0, columns = 0;
  const uint32_t* in = nullptr;
  uint32_t* out = nullptr;
};
void transpose_32bit(const TransposeCall& call, Threads& threads,
                     InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
