// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sizes and addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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

/// Returns a pointer moved by bytes. Computes on addresses: pointers may leave the array in
/// between.
template <class T>
inline __attribute__((always_inline)) T* moved(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

}  // namespace executorch::kernels::engine
