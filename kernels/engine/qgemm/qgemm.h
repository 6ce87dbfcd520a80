// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of int8 matrices with a constant right operand and a scale for each column.
//
// Static, int8 to int8 (scales are input scale * weight scale / output scale):
//   sum[r, c] = bias[c] + sum over d of (left[r, d] - input_zero_point) * right[d, c]
//   out[r, c] = min(max(round(sum[r, c] * scale[c]) + output_zero_point, out_min), out_max)
// and, with a residual, the sum of out and residual (eltwise/qsum.h).
//
// Dynamic, int8 rows that were quantized at run time, to float32:
//   sum[r, c] = sum over d of (left[r, d] - zero_point[r]) * right[d, c]
//   out[r, c] = clamp((sum[r, c] * row_scale[r]) * scale[c] + bias[c])
//
// Sums are int32 and wrap; rounding is to the nearest, halves to even. Integers are the same on
// every instruction set. The last multiply-add of a dynamic product is fused if the set has FMA.
// Packed operand: panels of columns. A panel begins with the initial values of its sums (int32).
// For each group of `interleave` elements of depth, `interleave` bytes of each column follow; then
// come scales and, for dynamic products, biases (float32). Zeros pad depth to a multiple of
// `interleave`. Strides count elements. Nothing is read or written beyond rows and columns; any
// size may be 0.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/eltwise/qsum.h>
#include <executorch/kernels/engine/eltwise/quantize_rows.h>
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct QGemmTiles;  // qgemm/tiles.h

/// A right operand. Element (d, c) is data[d * depth_stride + c * column_stride].
struct QRightMatrix {
  const int8_t* data;
  size_t depth_stride, column_stride;
};

/// Scales, biases and zero point of a product's columns; biases may be null for zeros.
struct QColumns {
  const float* scales = nullptr;
  int32_t input_zero_point = 0;   ///< static only
  const int32_t* bias = nullptr;  ///< static only
  bool is_dynamic = false;
  const float* float_bias = nullptr;  ///< dynamic only

  /// The initial value of a column's sums, which wrap. offset: added to each element of the left
  /// operand.
  uint32_t first_sum(size_t column, uint32_t sum_of_weights, int32_t offset) const {
    if (is_dynamic) return 0 - sum_of_weights;
    return (bias == nullptr ? 0 : uint32_t(bias[column])) -
           sum_of_weights * uint32_t(input_zero_point + offset);
  }
};

/// Quantization of a static product's results.
struct Requantization {
  int32_t zero_point = 0, out_min = -128, out_max = 127;
};

struct QGemmCall {
  size_t rows = 0;
  const int8_t* left = nullptr;
  size_t left_stride = 0;
  const void* packed = nullptr;
  int8_t* out = nullptr;
  size_t out_stride = 0;
  Requantization to;
  /// Null, or the residual of rows with the stride `out_stride`: out = sum(product, residual).
  const int8_t* residual = nullptr;
  QSum sum;
};

struct DynamicQGemmCall {
  size_t rows = 0;
  const int8_t* left = nullptr;
  size_t left_stride = 0;
  const RowQuantization* parameters = nullptr;  ///< one a row
  const void* packed = nullptr;
  float* out = nullptr;
  size_t out_stride = 0;
  float clamp_min = -INFINITY, clamp_max = INFINITY;
};

class QGemm {
 public:
  static QGemm plan(size_t columns, size_t depth, InstructionSet set = instruction_set());

  /// Identifies the packed form, as Gemm::layout() does.
  uint32_t layout() const;
  /// A multiple of kAlignment; `packed` must be aligned to kAlignment.
  size_t packed_bytes() const;
  void pack(const QRightMatrix& right, const QColumns& columns, void* packed) const;
  void run(const QGemmCall& call, Threads& threads) const;
  void run_dynamic(const DynamicQGemmCall& call, Threads& threads) const;

 private:
  template <class Call, class Compute>
  void for_each_tile(const Call& call, Threads& threads, const Compute& compute) const;

  const QGemmTiles* tiles_ = nullptr;
  size_t columns_ = 0, depth_ = 0;
};

}  // namespace executorch::kernels::engine
