// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The loop of depthwise convolution and pooling: rows of outputs, to which each tap of the window
// contributes a row of inputs.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels {

/// A row of inputs under one tap, for the outputs [at, at + n) of the block.
template <class T>
struct TapRow {
  const T* values;  ///< `step` apart
  int64_t step;
  int64_t at, n;
  int64_t tap[kSpatial];
  int64_t input;       ///< flat index of the first value in the image, row-major
  int64_t input_step;  ///< between the flat indices of neighbors
};

/// Computes `out` (its dtype is converted from T) from `image`, one channel each. For every block
/// of n ≤ kBlock outputs in a row, at (depth, height, first):
///   work.begin(n), then work.tap(TapRow) for each tap that meets the input anywhere in the block,
///   then work.end(index, n, offset of the first output in bytes; outputs are `stride` apart).
/// Rows are counted through all depths; those of [begin, end) are computed.
template <class T, class Work>
void for_each_window_row(const Plane& image, const WindowLoops& loops, int64_t begin_row,
                         int64_t end_row, Work& work) {
  const WindowAxis* axis = loops.axis;
  const bool direct = image.dtype == dtype_of(compute_type<T>) && image.strides[2] % sizeof(T) == 0;
  const Convert load_row = load(image.dtype, compute_type<T>);
  T loaded[kBlock];
  const auto add_taps = [&](const char* from, TapRow<T>& row, int64_t base, int64_t first,
                            int64_t n) {
    int64_t tap, taps;
    axis[2].taps_inside(first, first + n, &tap, &taps);
    for (row.tap[2] = tap; row.tap[2] < taps; ++row.tap[2]) {
      int64_t begin, end;
      axis[2].outputs_inside(row.tap[2], &begin, &end);
      begin = std::max(begin, first);
      end = std::min(end, first + n);
      if (begin >= end) continue;
      const int64_t width = axis[2].input(begin, row.tap[2]);
      const char* start = from + width * image.strides[2];
      row.at = begin - first;
      row.n = end - begin;
      row.input = loops.has_rows_of_channels ? base : base * axis[2].in + width;
      row.input_step = loops.has_rows_of_channels ? 0 : axis[2].step;
      row.step = direct ? axis[2].step * image.strides[2] / int64_t(sizeof(T)) : 1;
      row.values = direct ? reinterpret_cast<const T*>(start) : loaded;
      if (!direct) {
        load_row(reinterpret_cast<char*>(loaded), sizeof(T), start, axis[2].step * image.strides[2],
                 row.n);
      }
      work.tap(row);
    }
  };
  const auto compute = [&](const int64_t* at, int64_t n) {
    work.begin(n);
    TapRow<T> row;
    int64_t first[2], last[2];
    for (int d = 0; d < 2; ++d) axis[d].taps_inside(at[d], at[d] + 1, &first[d], &last[d]);
    for (row.tap[0] = first[0]; row.tap[0] < last[0]; ++row.tap[0]) {
      const int64_t d = axis[0].input(at[0], row.tap[0]);
      if (!axis[0].inside(d)) continue;
      for (row.tap[1] = first[1]; row.tap[1] < last[1]; ++row.tap[1]) {
        const int64_t h = axis[1].input(at[1], row.tap[1]);
        if (!axis[1].inside(h)) continue;
        add_taps(image.data + d * image.strides[0] + h * image.strides[1], row, d * axis[1].in + h,
                 at[2], n);
      }
    }
    work.end(at, n);
  };
  for (int64_t row = begin_row; row < end_row; ++row) {
    int64_t at[kSpatial] = {row / axis[1].outputs, row % axis[1].outputs, 0};
    for (; at[2] < axis[2].outputs; at[2] += kBlock) {
      compute(at, std::min(kBlock, axis[2].outputs - at[2]));
    }
  }
}

/// Writes a block of outputs, whose indices are `at` in the loops.
template <class T>
void store_window_row(const Plane& out, const WindowLoops& loops, Convert store_row,
                      const int64_t* at, const T* values, int64_t n) {
  char* to = out.data;
  for (int d = 0; d < kSpatial; ++d) {
    to += (loops.axis[d].out_first + at[d] * loops.axis[d].out_step) * out.strides[d];
  }
  store_row(to, loops.axis[2].out_step * out.strides[2], reinterpret_cast<const char*>(values),
            sizeof(T), n);
}

}  // namespace executorch::kernels
