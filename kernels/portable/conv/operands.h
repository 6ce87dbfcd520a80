// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A convolution of one image and group as a matrix product: weights by taps, taps by positions.
//
// Tensors with channels outside (contiguous) have rows of channels and columns of positions:
//   out[oc, q] = sum over k of weight[oc, k] * image[k, q],   k = (channel, tap)
// Channels-last tensors use the transposed product, so that the innermost dimension in memory stays
// the innermost loop:
//   out[q, oc] = sum over k of image[q, k] * weight[k, oc],   k = (tap, channel)
// The image matrix is never stored: the GEMM reads its blocks from the input.
#pragma once

#include <executorch/kernels/portable/conv/geometry.h>
#include <executorch/kernels/portable/conv/image_rows.h>
#include <executorch/kernels/portable/gemm/matrix.h>

#include <algorithm>

namespace executorch::kernels::portable {

// Multiplications of a depthwise convolution that justify another thread: about 8 us.
constexpr size_t kDepthwiseWork = 1 << 16;

/// The weights, of one stride an output channel and a nest of four strides along k.
struct WeightNest {
  char* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int64_t out_stride = 0;
  int64_t sizes[kSpatial + 1];
  int64_t strides[kSpatial + 1];

  /// The weights in memory order, k = (channel, tap), from an outermost channel on.
  static WeightNest all(const Strided& memory, int64_t first);
  /// The stride along k where one suffices, else 0.
  int64_t single_stride() const;
  char* at(int64_t channel, int64_t k) const;
};

inline WeightNest WeightNest::all(const Strided& memory, int64_t first) {
  WeightNest nest;
  nest.data = memory.data + first * memory.strides[0];
  nest.dtype = memory.dtype;
  nest.out_stride = memory.strides[0];
  for (int d = kSpatial; d >= 0; --d) {
    // The missing dimensions are the first spatial ones.
    const int from = d == 0 ? 1 : memory.rank - 1 - (kSpatial - d);
    const bool missing = d > 0 && from < 2;
    nest.sizes[d] = missing ? 1 : memory.sizes[from];
    nest.strides[d] = missing ? 0 : memory.strides[from];
  }
  return nest;
}

inline char* WeightNest::at(int64_t channel, int64_t k) const {
  char* place = data + channel * out_stride;
  for (int d = kSpatial; d >= 0; --d) {
    place += k % sizes[d] * strides[d];
    k /= sizes[d];
  }
  return place;
}

inline int64_t WeightNest::single_stride() const {
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

/// weight[oc, k], or its transpose weight[k, oc], for a nest without a single stride.
template <class T>
class WeightSource final : public BlockSource<T> {
 public:
  WeightSource(const WeightNest& nest, bool transposed);
  void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
            int64_t step) const override;

 private:
  const WeightNest& nest_;
  bool transposed_;
  Convert load_;
};

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
    load_(reinterpret_cast<char*>(to + k * k_step), channel_step * int64_t(sizeof(T)),
          nest_.at(channel, first + k), nest_.out_stride, channels);
  }
}

/// Adds the bias (null data: none) and writes to the result.
template <class T>
class ConvSink final : public BlockSink<T> {
 public:
  ConvSink(const Plane& out, const WindowLoops& loops, bool channels_inside,
           const MatrixView& bias);
  void finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const T* from,
              int64_t step) override;

 private:
  char* position(int64_t q) const;
  void write_channel(int64_t channel, int64_t q, int64_t columns, const T* values);

  const Plane& out_;
  const WindowLoops& loops_;
  bool channels_inside_;
  const MatrixView& bias_;
  Convert load_;
  Convert store_;
};

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
  bool even = is_stored_as<T>(out.dtype);
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
  const SpatialIndex out = output_index(loops_, q);
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
        load_(reinterpret_cast<char*>(bias), sizeof(T), bias_.data + channel * bias_.row_stride,
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

}  // namespace executorch::kernels::portable
