// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sizes and addresses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::kernels::engine {

constexpr size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }
constexpr size_t round_up(size_t a, size_t step) { return divide_up(a, step) * step; }

/// A pointer moved by bytes, which may leave its array in between: computed on addresses.
template <class T>
inline __attribute__((always_inline)) T* moved(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

}  // namespace executorch::kernels::engine
