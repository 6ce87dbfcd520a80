// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sizes, remainders and addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace executorch::kernels::engine {

/// T is the type of `a`: size_t, or int64_t where sizes are combined with negative numbers. Neither
/// argument is negative.
template <class T>
constexpr T divide_up(T a, std::common_type_t<T> b) {
  static_assert(std::is_same_v<T, size_t> || std::is_same_v<T, int64_t>);
  return (a + b - 1) / b;
}
template <class T>
constexpr T round_up(T a, std::common_type_t<T> step) {
  return divide_up(a, step) * step;
}

/// Returns the smallest n >= 0 such that n * step and `rest` agree modulo `modulus`, or -1 without
/// one. No argument is negative; modulus is in [1, 2^31].
inline int64_t first_multiple(int64_t step, int64_t rest, int64_t modulus) {
  // Euclid's algorithm: both remainders are multiples of step modulo `modulus`, by these factors.
  int64_t divisor = modulus, remainder = step % modulus, divisor_factor = 0, factor = 1;
  while (remainder != 0) {
    const int64_t quotient = divisor / remainder;
    divisor = std::exchange(remainder, divisor - quotient * remainder);
    divisor_factor = std::exchange(factor, divisor_factor - quotient * factor);
  }
  const int64_t period = modulus / divisor, target = rest % modulus;
  if (target % divisor != 0) return -1;
  return target / divisor * ((divisor_factor % period + period) % period) % period;
}

/// Returns a pointer moved by bytes. Computes on addresses: pointers may leave the array in
/// between.
template <class T>
inline __attribute__((always_inline)) T* moved(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

}  // namespace executorch::kernels::engine
