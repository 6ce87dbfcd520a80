// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/conv/operands.h>

#include <algorithm>

#include <executorch/kernels/portable/conv/pixels.h>

namespace executorch::kernels::portable {

namespace {

char* bytes(void* memory) { return static_cast<char*>(memory); }

/// An index over three nested dimensions taken apart.
struct Index3 {
  int64_t at[kSpatial];

  Index3(int64_t index, int64_t middle, int64_t inner)
      : at{index / (middle * inner), index / inner % middle, index % inner} {}
};

Index3 output_index(const WindowLoops& l, int64_t q) {
  return Index3(q, l.axis[1].outputs, l.axis[2].outputs);
}

}  // namespace

template <class T>
TapRows<T>::TapRows(const Plane& image, const WindowLoops& loops)
    : image_(image),
      loops_(loops),
      stands_(stands_as<T>(image.dtype)),
      load_(load(image.dtype, compute_type<T>)) {
  // A kernel of one tap without stride and padding reads the image as it is.
  bool plain = loops.taps() == 1 && stands_as<T>(image.dtype);
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
  const Index3 tap(row % taps, axis[1].taps, axis[2].taps);
  const char* channel = image_.data + row / taps * image_.channel_stride;
  int64_t first, last;
  axis[2].outputs_inside(tap.at[2], &first, &last);
  Index3 out = output_index(loops_, column);
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
      read_pixels(stands_, load_, to + (from - begin),
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

template <class T>
PositionRows<T>::PositionRows(const Plane& image, const WindowLoops& loops, int64_t channels)
    : image_(image),
      loops_(loops),
      channels_(channels),
      stands_(stands_as<T>(image.dtype)),
      runs_(loops.axis[2].tap_shift == 1 && image.strides[2] == channels * image.channel_stride),
      load_(load(image.dtype, compute_type<T>)) {
  // Without padding, a kernel of one tap reads rows of channels at a distance, if it is the same
  // for all.
  bool plain = loops.taps() == 1 && stands_as<T>(image.dtype);
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
  const Index3 out = output_index(loops_, row);
  // Taps that are neighbours in memory are read together, as one run of `taps` times the channels.
  const int64_t taps = runs_ ? axis[2].taps : 1;
  const int64_t length = taps * channels_;
  int64_t first = column % length;
  for (int64_t run = column / length; columns > 0; ++run, first = 0) {
    const Index3 tap(run * taps, axis[1].taps, axis[2].taps);
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
      read_pixels(stands_, load_, to + (begin - first),
                  image_.data + depth * image_.strides[0] + height * image_.strides[1] +
                      width * image_.strides[2] + begin * stride,
                  stride, end - begin);
    }
    std::fill(to + (end - first), to + n, T(0));
    to += n;
    columns -= n;
  }
}

int64_t WeightNest::single_stride() const {
  int64_t single = 0;
  int64_t next = 0;
  for (int d = kSpatial; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    if (single == 0) {
      single = strides[d];
    } else if (strides[d] != next) {
      return 0;
    }
    next = strides[d] * sizes[d];
  }
  return single == 0 ? size_of(dtype) : single;
}

template <class T>
WeightSource<T>::WeightSource(const WeightNest& nest, bool transposed)
    : nest_(nest), transposed_(transposed), load_(load(nest.dtype, compute_type<T>)) {}

template <class T>
void WeightSource<T>::read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
                           int64_t step) const {
  const int64_t first = transposed_ ? row : column;
  const int64_t count = transposed_ ? rows : columns;
  const int64_t channel = transposed_ ? column : row;
  const int64_t channels = transposed_ ? columns : rows;
  const int64_t k_step = transposed_ ? step : 1;
  const int64_t channel_step = transposed_ ? 1 : step;
  for (int64_t k = 0; k < count; ++k) {
    const char* from = nest_.data + channel * nest_.out_stride;
    int64_t index = first + k;
    for (int d = kSpatial; d >= 0; --d) {
      from += index % nest_.sizes[d] * nest_.strides[d];
      index /= nest_.sizes[d];
    }
    load_(bytes(to + k * k_step), channel_step * int64_t(sizeof(T)), from, nest_.out_stride,
          channels);
  }
}

template <class T>
ConvSink<T>::ConvSink(const Plane& out, const WindowLoops& loops, bool channels_inside,
                      const MatrixView& bias)
    : out_(out),
      loops_(loops),
      channels_inside_(channels_inside),
      bias_(bias),
      load_(bias.data ? load(bias.dtype, compute_type<T>) : nullptr),
      store_(store(compute_type<T>, out.dtype)) {
  // In place where positions follow each other at one distance.
  const int64_t distance = loops.axis[2].out_step * out.strides[2];
  int64_t stride = distance;
  bool even = stands_as<T>(out.dtype);
  for (int d = kSpatial - 1; d >= 0; --d) {
    const WindowAxis& a = loops.axis[d];
    even = even && (a.outputs == 1 || a.out_step * out.strides[d] == stride);
    stride *= a.outputs;
  }
  constexpr int64_t kSize = sizeof(T);
  if (even && (channels_inside ? out.channel_stride : distance) == kSize) {
    this->data = reinterpret_cast<T*>(position(0));
    this->row_step = (channels_inside ? distance : out.channel_stride) / kSize;
  }
}

template <class T>
char* ConvSink<T>::position(int64_t q) const {
  const Index3 out = output_index(loops_, q);
  char* at = out_.data;
  for (int d = 0; d < kSpatial; ++d) {
    at += (loops_.axis[d].out_first + out.at[d] * loops_.axis[d].out_step) * out_.strides[d];
  }
  return at;
}

template <class T>
void ConvSink<T>::write_channel(int64_t channel, int64_t q, int64_t columns, const T* values) {
  const WindowAxis& width = loops_.axis[2];
  const int64_t stride = width.out_step * out_.strides[2];
  while (columns > 0) {
    const int64_t n = std::min(columns, width.outputs - q % width.outputs);
    store_(position(q) + channel * out_.channel_stride, stride,
           reinterpret_cast<const char*>(values), sizeof(T), n);
    values += n;
    q += n;
    columns -= n;
  }
}

template <class T>
void ConvSink<T>::finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const T* from,
                         int64_t step) {
  if (this->data && !bias_.data) return;
  T bias[kBlock];
  T values[kBlock];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; j += kBlock) {
      const int64_t n = std::min(kBlock, columns - j);
      const T* sums = from + i * step + j;
      std::fill_n(bias, n, T(0));
      if (bias_.data) {
        const int64_t channel = channels_inside_ ? column + j : row + i;
        load_(bytes(bias), sizeof(T), bias_.data + channel * bias_.row_stride,
              channels_inside_ ? bias_.row_stride : 0, n);
      }
      for (int64_t c = 0; c < n; ++c) values[c] = sums[c] + bias[c];
      if (channels_inside_) {
        store_(position(row + i) + (column + j) * out_.channel_stride, out_.channel_stride,
               reinterpret_cast<const char*>(values), sizeof(T), n);
      } else {
        write_channel(row + i, column + j, n, values);
      }
    }
  }
}

#define INSTANTIATE(T)            \
  template class TapRows<T>;      \
  template class PositionRows<T>; \
  template class WeightSource<T>; \
  template class ConvSink<T>;
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(uint64_t)
#undef INSTANTIATE

}  // namespace executorch::kernels::portable
