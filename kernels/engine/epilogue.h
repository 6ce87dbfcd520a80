// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Steps that products and convolutions apply to each result while it is in the processor's caches:
//
//   out = activation(clamp(sum + bias + residual, clamp_min, clamp_max))
//
// NaN passes through every step.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace executorch::kernels::engine {

enum class Activation : uint8_t { None, Silu, Hardswish, Gelu, GeluTanh, Sigmoid, Tanh };

struct Epilogue {
  /// Sizes and strides are those of the output; null for none. Must not overlap the output.
  const float* residual = nullptr;
  float clamp_min = -INFINITY, clamp_max = INFINITY;
  Activation activation = Activation::None;
};

}  // namespace executorch::kernels::engine
