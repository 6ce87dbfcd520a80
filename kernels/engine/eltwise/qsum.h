// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sums of two int8 tensors with different quantization, in fixed point as XNNPACK computes them:
//
//   out = min(max((a * factor_a + b * factor_b + bias) >> shift, out_min - zero_point),
//             out_max - zero_point) + zero_point
//
// factor = round(scale / out scale * 2^shift); the shift gives the larger factor 21 bits; bias is
// half of 2^shift minus the factors times the zero points. No sum overflows. The integers are the
// same on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

/// An element is (integer - zero_point) * scale.
struct ByteQuantization {
  float scale;
  int32_t zero_point;
};

struct QSum {
  int32_t factor_a = 0, factor_b = 0, bias = 0, shift = 0;
  int32_t zero_point = 0, out_min = -128, out_max = 127;

  /// True if the larger scale / out scale is in [2^-10, 2^8), the range of the fixed point.
  static bool can_add(float scale_a, float scale_b, float out_scale);
  /// Only for scales that can_add() accepts.
  static QSum plan(const ByteQuantization& a, const ByteQuantization& b,
                   const ByteQuantization& out);

  int8_t operator()(int8_t a, int8_t b) const {
    const int32_t sum = ((a * factor_a + b * factor_b + bias) >> shift) + zero_point;
    return int8_t(sum < out_min ? out_min : sum > out_max ? out_max : sum);
  }
};

/// Adds a residual to a product where the product lies. Strides count elements.
struct QResidual {
  const QSum* sum = nullptr;  ///< a is the product, b the residual
  const int8_t* data = nullptr;
  size_t stride = 0;
};

using AddResidual = void (*)(const QResidual& residual, size_t rows, size_t columns,
                             int8_t* product, size_t stride);
AddResidual residual_kernel(InstructionSet set);

}  // namespace executorch::kernels::engine
