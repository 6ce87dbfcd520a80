// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The innermost loops of recurrent layers, which a library chooses.
#pragma once

#include <executorch/kernels/engine/recurrent/cell_formulas.h>

#include <cstddef>
#include <type_traits>

namespace executorch::kernels {

using engine::CellStep;
using Recurrence = engine::Cell;

/// A few rows times the rows of a matrix: out[r, c] = sum over d of left[r, d] * right[c, d].
/// Strides count elements.
template <class T>
struct RowsProduct {
  static constexpr size_t kMaxRows = 4;
  size_t rows, columns, depth;
  const T* left;
  size_t left_stride;
  const T* right;
  size_t right_stride;
  T* out;
  size_t out_stride;
};

template <class T>
struct RecurrentLoopsOf {
  CellStep<T> step;
  void (*multiply)(const RowsProduct<T>&);
};

/// The loops of a recurrence.
struct RecurrentLoops {
  RecurrentLoopsOf<float> f32;
  RecurrentLoopsOf<double> f64;

  template <class T>
  const RecurrentLoopsOf<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

/// Loops for every processor of this build.
RecurrentLoops plain_loops(Recurrence kind);

}  // namespace executorch::kernels
