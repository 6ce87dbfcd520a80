// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The im2col matrix of a convolution's input. The matrix is never stored: the GEMM packs its blocks
// straight from the image.
#pragma once

#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels::portable {

/// Reads n pixels `stride` bytes apart; memory of dtype T (`is_direct`) needs no conversion.
template <class T>
void read_pixels(bool is_direct, Convert load_row, T* to, const char* from, int64_t stride,
                 int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  const T* const pixels = reinterpret_cast<const T*>(from);
  if (is_direct && stride == kSize) {
    std::copy(pixels, pixels + n, to);
  } else if (is_direct && stride == 2 * kSize) {
    for (int64_t i = 0; i < n; ++i) to[i] = pixels[2 * i];
  } else {
    load_row(reinterpret_cast<char*>(to), kSize, from, stride, n);
  }
}

/// An index over three nested dimensions, split into its three parts.
struct SpatialIndex {
  int64_t at[kSpatial];

  SpatialIndex(int64_t index, int64_t middle, int64_t inner)
      : at{index / (middle * inner), index / inner % middle, index % inner} {}
};

inline SpatialIndex output_index(const WindowLoops& l, int64_t q) {
  return SpatialIndex(q, l.axis[1].outputs, l.axis[2].outputs);
}

/// image[k, q] with channels outside.
template <class T>
class TapRows final : public BlockSource<T> {
 public:
  TapRows(const Plane& image, const WindowLoops& loops);
  void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
            int64_t step) const override;

 private:
  void read_row(int64_t row, int64_t column, int64_t columns, T* to) const;

  const Plane& image_;
  const WindowLoops& loops_;
  bool is_direct_;  ///< as T in memory
  Convert load_;
};

template <class T>
TapRows<T>::TapRows(const Plane& image, const WindowLoops& loops)
    : image_(image),
      loops_(loops),
      is_direct_(is_stored_as<T>(image.dtype)),
      load_(load(image.dtype, compute_type<T>)) {
  // A kernel of one tap without stride and padding reads the image as it is.
  bool plain = loops.taps() == 1 && is_stored_as<T>(image.dtype);
  int64_t stride = sizeof(T);
  for (int d = kSpatial - 1; d >= 0; --d) {
    const WindowAxis& a = loops.axis[d];
    plain = plain && a.outputs == a.in && a.origin == 0 && a.step == 1 &&
            (a.in == 1 || image.strides[d] == stride);
    stride *= a.in;
  }
  if (plain) {
    this->data = reinterpret_cast<const T*>(image.data);
    this->row_step = image.channel_stride / int64_t(sizeof(T));
    this->column_step = 1;
  }
}

template <class T>
void TapRows<T>::read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
                      int64_t step) const {
  for (int64_t i = 0; i < rows; ++i) read_row(row + i, column, columns, to + i * step);
}

template <class T>
void TapRows<T>::read_row(int64_t row, int64_t column, int64_t columns, T* to) const {
  const WindowAxis* axis = loops_.axis;
  const int64_t taps = loops_.taps();
  const SpatialIndex tap(row % taps, axis[1].taps, axis[2].taps);
  const char* channel = image_.data + row / taps * image_.channel_stride;
  int64_t first, last;
  axis[2].outputs_inside(tap.at[2], &first, &last);
  SpatialIndex out = output_index(loops_, column);
  while (columns > 0) {
    const int64_t depth = axis[0].input(out.at[0], tap.at[0]);
    const int64_t height = axis[1].input(out.at[1], tap.at[1]);
    const int64_t begin = out.at[2];
    const int64_t end = std::min(axis[2].outputs, begin + columns);
    int64_t from = std::clamp(first, begin, end);
    int64_t until = std::clamp(last, from, end);
    if (!axis[0].inside(depth) || !axis[1].inside(height)) from = until = end;
    std::fill(to, to + (from - begin), T(0));
    if (until > from) {
      const int64_t width = axis[2].input(from, tap.at[2]);
      read_pixels(is_direct_, load_, to + (from - begin),
                  channel + depth * image_.strides[0] + height * image_.strides[1] +
                      width * image_.strides[2],
                  axis[2].step * image_.strides[2], until - from);
    }
    std::fill(to + (until - begin), to + (end - begin), T(0));
    to += end - begin;
    columns -= end - begin;
    out.at[2] = 0;
    if (++out.at[1] == axis[1].outputs) {
      out.at[1] = 0;
      ++out.at[0];
    }
  }
}

/// image[q, k] with channels inside.
template <class T>
class PositionRows final : public BlockSource<T> {
 public:
  PositionRows(const Plane& image, const WindowLoops& loops, int64_t channels);
  void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
            int64_t step) const override;

 private:
  void read_row(int64_t row, int64_t column, int64_t columns, T* to) const;

  const Plane& image_;
  const WindowLoops& loops_;
  int64_t channels_;
  bool is_direct_;  ///< as T in memory
  bool runs_;       ///< neighboring taps of a row are neighbors in memory
  Convert load_;
};

template <class T>
PositionRows<T>::PositionRows(const Plane& image, const WindowLoops& loops, int64_t channels)
    : image_(image),
      loops_(loops),
      channels_(channels),
      is_direct_(is_stored_as<T>(image.dtype)),
      runs_(loops.axis[2].tap_shift == 1 && image.strides[2] == channels * image.channel_stride),
      load_(load(image.dtype, compute_type<T>)) {
  // Without padding, a kernel of one tap reads rows of channels at a distance, if it is the same
  // for all.
  bool plain = loops.taps() == 1 && is_stored_as<T>(image.dtype);
  int64_t stride = loops.axis[2].step * image.strides[2];
  for (int d = kSpatial - 1; d >= 0; --d) {
    const WindowAxis& a = loops.axis[d];
    plain = plain && a.origin == 0 && a.input(a.outputs - 1, 0) < a.in &&
            (a.outputs == 1 || a.step * image.strides[d] == stride);
    stride *= a.outputs;
  }
  if (plain && image.channel_stride % int64_t(sizeof(T)) == 0) {
    this->data = reinterpret_cast<const T*>(image.data);
    this->row_step = loops.axis[2].step * image.strides[2] / int64_t(sizeof(T));
    this->column_step = image.channel_stride / int64_t(sizeof(T));
  }
}

template <class T>
void PositionRows<T>::read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
                           int64_t step) const {
  if (columns == 0) return;
  for (int64_t i = 0; i < rows; ++i) read_row(row + i, column, columns, to + i * step);
}

template <class T>
void PositionRows<T>::read_row(int64_t row, int64_t column, int64_t columns, T* to) const {
  const WindowAxis* axis = loops_.axis;
  const SpatialIndex out = output_index(loops_, row);
  // Taps that are neighbors in memory are read together, as one run of `taps` times the channels.
  const int64_t taps = runs_ ? axis[2].taps : 1;
  const int64_t length = taps * channels_;
  int64_t first = column % length;
  for (int64_t run = column / length; columns > 0; ++run, first = 0) {
    const SpatialIndex tap(run * taps, axis[1].taps, axis[2].taps);
    const int64_t n = std::min(length - first, columns);
    const int64_t depth = axis[0].input(out.at[0], tap.at[0]);
    const int64_t height = axis[1].input(out.at[1], tap.at[1]);
    const int64_t width = axis[2].input(out.at[2], tap.at[2]);
    // The part of the run inside of the image.
    const bool inside = axis[0].inside(depth) && axis[1].inside(height);
    const int64_t begin = std::clamp(-width * channels_, first, first + n);
    const int64_t end =
        inside ? std::clamp((axis[2].in - width) * channels_, begin, first + n) : begin;
    std::fill(to, to + (begin - first), T(0));
    if (end > begin) {
      const int64_t stride = image_.channel_stride;
      read_pixels(is_direct_, load_, to + (begin - first),
                  image_.data + depth * image_.strides[0] + height * image_.strides[1] +
                      width * image_.strides[2] + begin * stride,
                  stride, end - begin);
    }
    std::fill(to + (end - first), to + n, T(0));
    to += n;
    columns -= n;
  }
}

}  // namespace executorch::kernels::portable
