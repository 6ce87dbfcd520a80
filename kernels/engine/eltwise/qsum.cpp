// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/eltwise/qsum.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/simd/float_math.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/eltwise/qsum.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

constexpr int kFactorBits = 21;

}  // namespace

bool QSum::can_add(float scale_a, float scale_b, float out_scale) {
  const float scale = std::max(scale_a / out_scale, scale_b / out_scale);
  return scale >= 0x1p-10f && scale < 0x1p8f;
}

QSum QSum::plan(const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& out) {
  const float scale_a = a.scale / out.scale, scale_b = b.scale / out.scale;
  QSum sum;
  sum.shift = kFactorBits - 1 - std::ilogb(std::max(scale_a, scale_b));
  sum.factor_a = int32_t(std::nearbyint(std::ldexp(scale_a, sum.shift)));
  sum.factor_b = int32_t(std::nearbyint(std::ldexp(scale_b, sum.shift)));
  sum.bias = (1 << (sum.shift - 1)) - sum.factor_a * a.zero_point - sum.factor_b * b.zero_point;
  sum.zero_point = out.zero_point;
  return sum;
}

AddResidual residual_kernel(InstructionSet set) { return ET_SIMD_FUNCTION(set, add_residual); }

}  // namespace executorch::kernels::engine
