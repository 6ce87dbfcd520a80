// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of float32 quantized to int8, each by the range of its elements and zero:
//
//   factor = 255 / (max - min), or 1 for a row of zeros;  scale = 1 / factor
//   zero_point = the integer nearest to -128 - min * factor or to 127 - max * factor, whichever
//                errs less
//   out = min(max(round(x / scale) + zero_point, -128), 127)
//
// Rounding is to the nearest, halves to even. NaN takes no part in the range and becomes -128. The
// integers and parameters are the same on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// An element is (integer - zero_point) * scale.
struct RowQuantization {
  int32_t zero_point;
  float scale;
};

struct QuantizeRowsCall {
  size_t rows = 0, length = 0;
  const float* in = nullptr;
  int8_t* out = nullptr;
  RowQuantization* parameters = nullptr;  ///< one a row
};

void quantize_rows(const QuantizeRowsCall& call, Threads& threads,
                   InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
