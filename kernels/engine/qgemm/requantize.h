// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sums of int8 products to results, as qgemm.h says, one by one.
#pragma once

#include <cmath>
#include <cstdint>

#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

inline int8_t requantized(int32_t sum, float scale, const Requantization& to) {
  const auto least = float(to.out_min - to.zero_point), most = float(to.out_max - to.zero_point);
  const float scaled = float(sum) * scale;
  const float below = scaled < most ? scaled : most;
  const float within = below < least ? least : below;
  return int8_t(int32_t(std::nearbyint(within)) + to.zero_point);
}

/// NaN propagates.
inline float dequantized(int32_t sum, float row_scale, float scale, float bias,
                         const QDynamic& to) {
  const float y = float(sum) * row_scale * scale + bias;
  const float above = y < to.clamp_min ? to.clamp_min : y;
  return above > to.clamp_max ? to.clamp_max : above;
}

}  // namespace executorch::kernels::engine
