// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One step of a recurrent layer's units: formulas over single numbers, in loops that the compiler
// vectorizes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <executorch/kernels/engine/simd/float_math.h>

namespace executorch::kernels::engine {

/// Computes one step of n units of one sequence. x: input weights times input, plus biases; h:
/// hidden weights times hidden state; the gates of a unit are `gates` elements apart. out: the new
/// hidden state. No two arrays may overlap.
template <class T>
using CellStep = void (*)(const T* x, const T* h, size_t gates, const T* bias, T* state, T* out,
                          size_t n);

/// Lstm: gates i, f, g, o; `state` is the cell's, read and written; no bias. Gru: gates r, z, n;
/// `bias` is the hidden bias of gate n; `state` is the hidden state, read. Tanh, Relu: one gate; no
/// bias, no state.
enum class Cell : uint8_t { Lstm, Gru, Tanh, Relu };

namespace {

template <class T>
ET_VECTOR_INLINE T cell_sigmoid(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return float_sigmoid<float, int32_t>(x < -88.0f ? -88.0f : x);
  } else {
    return 1 / (1 + std::exp(-x));
  }
}

template <class T>
ET_VECTOR_INLINE T cell_tanh(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return float_tanh<float, int32_t>(x);
  } else {
    return std::tanh(x);
  }
}

/// Computes a CellStep.
template <Cell cell, class T>
ET_VECTOR_INLINE void step_units(const T* __restrict x, const T* __restrict h, size_t gates,
                                 const T* __restrict bias, T* __restrict state, T* __restrict out,
                                 size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const T first = x[i] + h[i];
    if constexpr (cell == Cell::Tanh) {
      out[i] = cell_tanh(first);
    } else if constexpr (cell == Cell::Relu) {
      out[i] = first < 0 ? T(0) : first;
    } else if constexpr (cell == Cell::Gru) {
      const T reset = cell_sigmoid(first), keep = cell_sigmoid(x[i + gates] + h[i + gates]);
      const T fresh = cell_tanh(x[i + 2 * gates] + reset * (h[i + 2 * gates] + bias[i]));
      out[i] = (state[i] - fresh) * keep + fresh;
    } else {
      const T added = cell_sigmoid(first) * cell_tanh(x[i + 2 * gates] + h[i + 2 * gates]);
      state[i] = cell_sigmoid(x[i + gates] + h[i + gates]) * state[i] + added;
      out[i] = cell_sigmoid(x[i + 3 * gates] + h[i + 3 * gates]) * cell_tanh(state[i]);
    }
  }
}

}  // namespace
}  // namespace executorch::kernels::engine
