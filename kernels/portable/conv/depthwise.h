// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution where every output channel reads one input channel: too thin for a matrix product.
#pragma once

#include <executorch/kernels/portable/conv/operands.h>
#include <executorch/kernels/portable/spatial/window_rows.h>

namespace executorch::kernels::portable {

/// The work of depthwise_channel on a block of outputs: see for_each_window_row.
template <class T>
struct WeightedSum {
  const WeightNest& weight;
  const WindowLoops& loops;
  const Plane& out;
  const T bias;
  const Convert load_weight = load(weight.dtype, compute_type<T>);
  const Convert store_row = store(compute_type<T>, out.dtype);
  T sums[kBlock] = {};

  void begin(int64_t n) { std::fill_n(sums, n, bias); }
  void tap(const TapRow<T>& row) {
    const char* from = weight.data;
    for (int d = 0; d < kSpatial; ++d) from += row.tap[d] * weight.strides[1 + d];
    T factor;
    load_weight(reinterpret_cast<char*>(&factor), 0, from, 0, 1);
    T* to = sums + row.at;
    if (row.step == 1) {
      for (int64_t q = 0; q < row.n; ++q) to[q] += factor * row.values[q];
    } else {
      for (int64_t q = 0; q < row.n; ++q) to[q] += factor * row.values[q * row.step];
    }
  }
  void end(const int64_t* at, int64_t n) { store_window_row(out, loops, store_row, at, sums, n); }
};

/// One output channel of one phase, whatever its loops: out = bias + sum over taps. `image`,
/// `weight` and `out` point at the channel.
template <class T>
void depthwise_channel(const Plane& image, const WeightNest& weight, const WindowLoops& loops,
                       T bias, const Plane& out) {
  WeightedSum<T> work{weight, loops, out, bias};
  for_each_window_row<T>(image, loops, 0, loops.rows(), work);
}

}  // namespace executorch::kernels::portable
