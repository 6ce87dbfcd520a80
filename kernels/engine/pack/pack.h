// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copies that change the order of dimensions. Sizes count elements, which move unchanged.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// out[b, c, r] = in[b, r, c]; both contiguous. NCHW -> NHWC: rows = channels, columns = height *
/// width; the reverse: rows = height * width, columns = channels. The memory must not overlap.
template <typename T>
struct TransposeOf {
  size_t batch = 1, rows = 0, columns = 0;
  const T* in = nullptr;
  T* out = nullptr;
};
using TransposeCall = TransposeOf<uint32_t>;
void transpose_32bit(const TransposeCall& call, Threads& threads,
                     InstructionSet set = instruction_set());
/// Fast for three rows: images with red, green and blue planes.
void transpose_8bit(const TransposeOf<uint8_t>& call, Threads& threads,
                    InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
