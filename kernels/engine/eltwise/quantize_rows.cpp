// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/eltwise/quantize_rows.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/simd/float_math.h>

namespace executorch::kernels::engine {
namespace {

/// Integers of a unit, for the range of a row.
float row_factor(float low, float high) { return low == high ? 1.0f : 255.0f / (high - low); }

RowQuantization row_parameters(float low, float high, float factor) {
  constexpr float kMin = -128, kMax = 127;
  const float at_low = low * factor, at_high = high * factor;
  const float zero_point = (kMin + at_low) + (kMax + at_high) > 0 ? kMin - at_low : kMax - at_high;
  const float above = zero_point > kMin ? zero_point : kMin;
  const float rounded = ((above < kMax ? above : kMax) + kRoundUp) - kRoundUp;
  return {int32_t(rounded), 1.0f / factor};
}

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/eltwise/quantize_rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

void quantize_rows(const QuantizeRowsCall& call, Threads& threads, InstructionSet set) {
  for_each_rows(threads, call, ET_SIMD_FUNCTION(set, quantize_rows));
}

}  // namespace executorch::kernels::engine
