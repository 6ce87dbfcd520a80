// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What a recurrent layer does to its units in one step, as values, so that an instruction set is
// chosen while running: cell_loops.h makes them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace executorch::kernels {

/// (x, h, gates, bias, state, out, n): one step of n units of one sequence. `x` is what the gates
/// get from the input, biases included, `h` what they get from the hidden state; the gates of a
/// unit are `gates` elements apart. out: the new hidden state, which may not overlap the others.
template <class T>
using CellStep = void (*)(const T* x, const T* h, int64_t gates, const T* bias, T* state, T* out,
                          int64_t n);

template <class T>
struct CellSteps {
  /// Gates i, f, g, o; `state` is the cell's, read and written. No bias.
  CellStep<T> lstm;
  /// Gates r, z, n; `bias` is of what n gets from the hidden state; `state` is that, read.
  CellStep<T> gru;
  /// One gate; no bias, no state.
  CellStep<T> tanh, relu;
};

struct Cells {
  CellSteps<float> f32;
  CellSteps<double> f64;
};

/// What any processor of this build can run.
const Cells& plain_cells();

template <class T>
const CellSteps<T>& steps_of(const Cells& cells) {
  if constexpr (std::is_same_v<T, float>) {
    return cells.f32;
  } else {
    return cells.f64;
  }
}

}  // namespace executorch::kernels
