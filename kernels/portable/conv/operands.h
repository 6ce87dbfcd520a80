// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A convolution of one image and group as a matrix product: weights by taps, taps by positions.
//
// Tensors with channels outside (contiguous) have rows of channels and columns of positions:
//   out[oc, q] = sum over k of weight[oc, k] * image[k, q],   k = (channel, tap)
// and with channels inside (channels_last) the reverse, so that what is innermost in memory stays
// innermost:
//   out[q, oc] = sum over k of image[q, k] * weight[k, oc],   k = (tap, channel)
// No such image matrix exists; its blocks are read from the input as the product asks for them.
#pragma once

#include <executorch/kernels/portable/conv/geometry.h>
#include <executorch/kernels/portable/gemm/matrix.h>

namespace executorch::kernels::portable {

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
  bool stands_;  ///< as T in memory
  Convert load_;
};

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
  bool stands_;  ///< as T in memory
  bool runs_;    ///< neighbouring taps of a row are neighbours in memory
  Convert load_;
};

/// The weights, of one stride an output channel and a nest of four strides along k.
struct WeightNest {
  char* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int64_t out_stride = 0;
  int64_t sizes[kSpatial + 1];
  int64_t strides[kSpatial + 1];

  /// The stride along k where one suffices, else 0.
  int64_t single_stride() const;
};

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

}  // namespace executorch::kernels::portable
