// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Integer arithmetic that detects overflow. Every size that comes from a file is computed with
// these functions.
#pragma once

namespace executorch::runtime {

/// *sum = a + b; true on overflow, *sum is then unusable.
template <typename T>
[[nodiscard]] constexpr bool add_overflows(T a, T b, T* sum) {
  return __builtin_add_overflow(a, b, sum);
}

/// *product = a * b; true on overflow, *product is then unusable.
template <typename T>
[[nodiscard]] constexpr bool mul_overflows(T a, T b, T* product) {
  return __builtin_mul_overflow(a, b, product);
}

}  // namespace executorch::runtime
