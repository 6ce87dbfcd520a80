// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/conv/depthwise.h>

#include <algorithm>

#include <executorch/kernels/portable/spatial/window_rows.h>

namespace executorch::kernels::portable {

namespace {

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

}  // namespace

template <class T>
void depthwise_channel(const Plane& image, const WeightNest& weight, const WindowLoops& loops,
                       T bias, const Plane& out) {
  WeightedSum<T> work{weight, loops, out, bias};
  for_each_window_row<T>(image, loops, work);
}

template void depthwise_channel<float>(const Plane&, const WeightNest&, const WindowLoops&, float,
                                       const Plane&);
template void depthwise_channel<double>(const Plane&, const WeightNest&, const WindowLoops&, double,
                                        const Plane&);
template void depthwise_channel<uint64_t>(const Plane&, const WeightNest&, const WindowLoops&,
                                          uint64_t, const Plane&);

}  // namespace executorch::kernels::portable
