// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolution with channels inside (channels_last): all channels of a pixel at once, each
// with a weight of its own.
#pragma once

#include <executorch/kernels/portable/conv/operands.h>
#include <executorch/runtime/kernel/parallel.h>

namespace executorch::kernels::portable {

/// Images whose every output channel reads the input channel of the same number. Weights and bias
/// are laid out a row of channels a tap.
template <class T>
class DepthwiseLanes {
 public:
  /// Takes scratch from `ctx`. `ready()` is false where there is too little, for channels that do
  /// not lie side by side in `image` and `out`, and for windows of many taps.
  DepthwiseLanes(KernelRuntimeContext& ctx, const GemmTile<T>& tile, const WindowLoops& loops,
                 const Plane& image, const Plane& out, int64_t channels);
  bool ready() const { return weights_ != nullptr; }

  /// The weights (`channel_stride` bytes between channels) and bias (null data: zero) of the coming
  /// images.
  void load_weights(const WeightNest& nest, int64_t channel_stride, const MatrixView& bias);
  void run(const Plane& image, const Plane& out);

 private:
  static constexpr int64_t kMaxTaps = 64;

  int64_t gather(const Plane& image, const int64_t* at, const T** values, const T** weights) const;
  void run_rows(const Plane& image, const Plane& out, int64_t begin, int64_t end) const;

  const GemmTile<T>& tile_;
  const WindowLoops& loops_;
  int64_t channels_;
  bool stands_;  ///< as T in memory
  Convert load_;
  Convert store_;
  T* weights_ = nullptr;  ///< [taps, channels]
  T* bias_ = nullptr;
  T* sums_ = nullptr;
  T* loaded_ = nullptr;  ///< [taps, channels] of the input where it does not stand as T
};

template <class T>
DepthwiseLanes<T>::DepthwiseLanes(KernelRuntimeContext& ctx, const GemmTile<T>& tile,
                                  const WindowLoops& loops, const Plane& image, const Plane& out,
                                  int64_t channels)
    : tile_(tile),
      loops_(loops),
      channels_(channels),
      stands_(stands_as<T>(image.dtype)),
      load_(load(image.dtype, compute_type<T>)),
      store_(store(compute_type<T>, image.dtype)) {
  const int64_t side_by_side = size_of(image.dtype);
  if (image.channel_stride != side_by_side || out.channel_stride != side_by_side ||
      loops.taps() > kMaxTaps) {
    return;
  }
  const int64_t rows = loops.taps() * (stands_ ? 1 : 2) + 2;
  const auto scratch = ctx.allocate_temp(size_t(rows * channels) * sizeof(T), 64);
  if (!scratch.ok()) return;
  bias_ = static_cast<T*>(*scratch);
  sums_ = bias_ + channels;
  weights_ = sums_ + channels;
  loaded_ = weights_ + loops.taps() * channels;
}

template <class T>
void DepthwiseLanes<T>::load_weights(const WeightNest& nest, int64_t channel_stride,
                                     const MatrixView& bias) {
  for (int64_t t = 0; t < loops_.taps(); ++t) {
    const SpatialIndex tap(t, loops_.axis[1].taps, loops_.axis[2].taps);
    const char* from = nest.data;
    for (int d = 0; d < kSpatial; ++d) from += tap.at[d] * nest.strides[1 + d];
    load_(reinterpret_cast<char*>(weights_ + t * channels_), sizeof(T), from, channel_stride,
          channels_);
  }
  std::fill_n(bias_, channels_, T(0));
  if (bias.data) {
    load_(reinterpret_cast<char*>(bias_), sizeof(T), bias.data, bias.row_stride, channels_);
  }
}

/// The inputs and weights of the taps that meet the image; how many.
template <class T>
int64_t DepthwiseLanes<T>::gather(const Plane& image, const int64_t* at, const T** values,
                                  const T** weights) const {
  const WindowAxis* axis = loops_.axis;
  int64_t count = 0, tap = 0;
  for (int64_t i = 0; i < axis[0].taps; ++i) {
    const int64_t z = axis[0].input(at[0], i);
    for (int64_t j = 0; j < axis[1].taps; ++j) {
      const int64_t y = axis[1].input(at[1], j);
      if (!axis[0].inside(z) || !axis[1].inside(y)) {
        tap += axis[2].taps;
        continue;
      }
      const char* const row = image.data + z * image.strides[0] + y * image.strides[1];
      for (int64_t k = 0; k < axis[2].taps; ++k, ++tap) {
        const int64_t x = axis[2].input(at[2], k);
        if (!axis[2].inside(x)) continue;
        const char* const from = row + x * image.strides[2];
        values[count] = reinterpret_cast<const T*>(from);
        if (!stands_) {
          T* const to = loaded_ + count * channels_;
          load_(reinterpret_cast<char*>(to), sizeof(T), from, image.channel_stride, channels_);
          values[count] = to;
        }
        weights[count++] = weights_ + tap * channels_;
      }
    }
  }
  return count;
}

template <class T>
void DepthwiseLanes<T>::run(const Plane& image, const Plane& out) {
  const int64_t rows = loops_.axis[0].outputs * loops_.axis[1].outputs;
  const int64_t work = loops_.outputs() * loops_.taps() * channels_;
  // Threads would share the memory that values are converted in.
  const size_t parts =
      stands_ ? std::min(runtime::parallel_parts(size_t(work), kDepthwiseWork), size_t(rows)) : 1;
  runtime::run_parallel(
      [&](size_t i) {
        run_rows(image, out, rows * int64_t(i) / int64_t(parts),
                 rows * int64_t(i + 1) / int64_t(parts));
      },
      parts);
}

/// Rows of the output, counted through all depths.
template <class T>
void DepthwiseLanes<T>::run_rows(const Plane& image, const Plane& out, int64_t begin,
                                 int64_t end) const {
  const T* values[kMaxTaps];
  const T* weights[kMaxTaps];
  const WindowAxis* axis = loops_.axis;
  // Of the outputs [first, last) of a row, all taps meet the image: one reads a step after another.
  int64_t first = 0, last = axis[2].outputs;
  for (int64_t k = 0; k < axis[2].taps; ++k) {
    int64_t begin, end;
    axis[2].outputs_inside(k, &begin, &end);
    first = std::max(first, begin);
    last = std::min(last, end);
  }
  const int64_t step = axis[2].step * image.strides[2] / int64_t(sizeof(T));
  for (int64_t row = begin; row < end; ++row) {
    int64_t at[kSpatial] = {row / axis[1].outputs, row % axis[1].outputs, 0};
    int64_t taps = 0;
    for (; at[2] < axis[2].outputs; ++at[2]) {
      char* to = out.data;
      for (int d = 0; d < kSpatial; ++d) {
        to += (axis[d].out_first + at[d] * axis[d].out_step) * out.strides[d];
      }
      if (stands_ && at[2] > first && at[2] < last) {
        for (int64_t t = 0; t < taps; ++t) values[t] += step;
      } else {
        taps = gather(image, at, values, weights);
      }
      T* const sums = stands_ ? reinterpret_cast<T*>(to) : sums_;
      tile_.lane_sum(values, weights, taps, bias_, sums, channels_);
      if (!stands_) {
        store_(to, out.channel_stride, reinterpret_cast<const char*>(sums), sizeof(T), channels_);
      }
    }
  }
}

}  // namespace executorch::kernels::portable
