// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The innermost loops on int8 as function pointers, so that the instruction set is chosen at run
// time. Sums are int32 and exact: callers ensure at most kMaxTerms products.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::kernels::quantized {

/// The sum of 2^17 - 1 products of two int8 fits int32.
inline constexpr int64_t kMaxTerms = (1 << 17) - 1;

/// Products are summed in pairs where the processor does that in one instruction; else, and in a
/// build for size, one at a time and without copies of the weights.
#if defined(__SSE2__) && !defined(__OPTIMIZE_SIZE__)
#define ET_PAIRED_PRODUCTS 1
using Factor = int16_t;
inline constexpr int kTogether = 2;
#else
#define ET_PAIRED_PRODUCTS 0
using Factor = int8_t;
inline constexpr int kTogether = 1;
#endif

/// The integers that quantized numbers may have.
struct Limits {
  float quant_min, quant_max;  ///< less the zero point
  int32_t zero_point;

  Limits(int64_t out_zero, int64_t out_min, int64_t out_max)
      : quant_min(static_cast<float>(out_min - out_zero)),
        quant_max(static_cast<float>(out_max - out_zero)),
        zero_point(static_cast<int32_t>(out_zero)) {}
};

/// Loops of one instruction set.
struct IntegerLoops {
  static constexpr int kMaxRows = 6;
  static constexpr int kMaxColumns = 16;
  /// Inputs of `dots` at a time.
  static constexpr int kInputs = 4;

  int rows;     ///< rows of a full tile
  int columns;  ///< columns of every tile

  /// (k, a, its row step, b, c): c[i, j] = the sum over k of a[i, k] * b[k, j], a tile. k is a
  /// multiple of kTogether; b is [k / kTogether, columns, kTogether], c is [rows, columns].
  void (*tile[kMaxRows])(int64_t, const Factor*, int64_t, const Factor*, int32_t*);
  /// Writes kTogether rows of `columns` elements as b has them.
  void (*interleave)(const int8_t* const* rows, Factor* to);
  /// Widens a row where factors are wider.
  void (*widen)(const int8_t* from, Factor* to, int64_t n);
  /// (k, x, its row step, inputs, w, its row step, n, c, its row step): c[i, j] = the sum over k of
  /// x[i, k] * w[j, k] for up to kInputs rows of x.
  void (*dots)(int64_t, const Factor*, int64_t, int, const int8_t*, int64_t, int64_t, int32_t*,
               int64_t);
#if ET_PAIRED_PRODUCTS
  /// (in, offsets, weights, taps, sums, n): sums[q] = the sum of weights[t] * in[offsets[t] + q]
  /// for an even number of taps. Reads and writes up to kMaxColumns elements beyond n.
  void (*tap_sums)(const Factor*, const int32_t*, const Factor*, int64_t, int32_t*, int64_t);
#endif
  /// `requantize` of the rows of a tile, each with its scale and offset, to rows `step` apart.
  void (*requantize_tile)(const int32_t* sums, int64_t rows, const float* scales,
                          const float* offsets, const Limits& limits, int8_t* out, int64_t step);
  /// out = round(sums * scale + offset) + zero point within limits, the nearest even for halves;
  /// scales and offsets one for each, or the first for all.
  void (*requantize)(const int32_t* sums, const float* scales, const float* offsets, bool one_each,
                     const Limits& limits, int8_t* out, int64_t n);
};

/// The best loops that this processor supports.
const IntegerLoops& integer_loops();

#if ET_PAIRED_PRODUCTS && defined(__x86_64__)
const IntegerLoops& integer_loops_avx2();
#endif

}  // namespace executorch::kernels::quantized
