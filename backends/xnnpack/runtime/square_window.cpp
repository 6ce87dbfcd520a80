// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/square_window.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/plane_vectors.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kTaps = SquareWindow::kTaps;
constexpr size_t kRowsAtOnce = 4;

/// The window in vectors.
template <int lanes>
struct Lanes {
  using V = typename Vector<lanes>::Type;

  explicit EXECUTORCH_INLINE Lanes(const SquareWindow& window)
      : bias(V{} + window.bias), min(V{} + window.min), max(V{} + window.max) {
#pragma GCC unroll 9
    for (size_t t = 0; t < kTaps * kTaps; ++t) {
      weights[t] = V{} + window.weights[t];
    }
  }

  V weights[kTaps * kTaps];
  V bias, min, max;
};

/// Neighbouring outputs of as many rows, from `at` in the rows of the input.
template <int lanes, size_t rows>
EXECUTORCH_INLINE void block(const Lanes<lanes>& window, const float* const* in, size_t at,
                             float* out, size_t out_columns) {
  using V = typename Vector<lanes>::Type;
  V sums[rows];
#pragma GCC unroll 4
  for (size_t r = 0; r < rows; ++r) {
    sums[r] = window.bias;
  }
#pragma GCC unroll 6
  for (size_t y = 0; y < rows + kTaps - 1; ++y) {
#pragma GCC unroll 3
    for (size_t x = 0; x < kTaps; ++x) {
      const V element = *reinterpret_cast<const V*>(in[y] + at + x);
#pragma GCC unroll 4
      for (size_t r = 0; r < rows; ++r) {
        if (y >= r && y - r < kTaps) {
          sums[r] += window.weights[(y - r) * kTaps + x] * element;
        }
      }
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < rows; ++r) {
    const V above = sums[r] < window.min ? window.min : sums[r];  // NaN stays
    *reinterpret_cast<V*>(out + r * out_columns) = above > window.max ? window.max : above;
  }
}

/// One output of as many rows, where windows reach beyond the image's columns: vectors of rows.
template <size_t rows>
EXECUTORCH_INLINE void edge(const SquareWindow& window, const SquareImage& image,
                            const float* const* in, size_t column, float* out) {
  using V = typename Vector<rows>::Type;
  V sum = V{} + window.bias;
#pragma GCC unroll 3
  for (size_t x = 0; x < kTaps; ++x) {
    const size_t from = column + x - image.columns_before;  // wraps before the image
    if (from >= image.in_columns) {
      continue;
    }
    // In registers: a vector cannot be read from memory that was just written in parts.
#pragma GCC unroll 3
    for (size_t y = 0; y < kTaps; ++y) {
      V elements{};
#pragma GCC unroll 4
      for (size_t r = 0; r < rows; ++r) {
        elements[r] = in[y + r][from];
      }
      sum += window.weights[y * kTaps + x] * elements;
    }
  }
  const V min = V{} + window.min, max = V{} + window.max;
  const V above = sum < min ? min : sum;  // NaN stays
  sum = above > max ? max : above;
#pragma GCC unroll 4
  for (size_t r = 0; r < rows; ++r) {
    out[r * image.out_columns + column] = sum[r];
  }
}

/// @param in The rows that they read.
template <int lanes, size_t rows>
EXECUTORCH_INLINE void output_rows(const SquareWindow& window, const SquareImage& image,
                                   const float* const* in, float* out) {
  const size_t columns = image.out_columns;
  const size_t begin = std::min(image.columns_before, columns);
  const size_t end =
      image.in_columns < kTaps ? begin : std::min(columns, begin + image.in_columns - (kTaps - 1));
  for (size_t i = 0; i < begin; ++i) {
    edge<rows>(window, image, in, i, out);
  }
  for (size_t i = end; i < columns; ++i) {
    edge<rows>(window, image, in, i, out);
  }
  const Lanes<lanes> wide(window);
  size_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    block<lanes, rows>(wide, in, i - begin, out + i, columns);
  }
  if (i < end && end - begin >= lanes) {
    block<lanes, rows>(wide, in, end - lanes - begin, out + end - lanes, columns);
    return;
  }
  for (; i < end; ++i) {
    block<1, rows>(Lanes<1>(window), in, i - begin, out + i, columns);
  }
}

template <int lanes>
EXECUTORCH_INLINE void all_rows(const SquareWindow& window, const SquareImage& image) {
  const float* in[kRowsAtOnce + kTaps - 1];
  for (size_t y = 0; y < image.out_rows;) {
    const size_t rows = image.out_rows - y >= kRowsAtOnce ? kRowsAtOnce : 1;
    for (size_t k = 0; k < rows + kTaps - 1; ++k) {
      const size_t from = y + k - image.rows_before;  // wraps before the image
      in[k] = from < image.in_rows ? image.in + from * image.in_columns : image.zeros;
    }
    float* const out = image.out + y * image.out_columns;
    if (rows == kRowsAtOnce) {
      output_rows<lanes, kRowsAtOnce>(window, image, in, out);
    } else {
      output_rows<lanes, 1>(window, image, in, out);
    }
    y += rows;
  }
}

void plain(const SquareWindow& window, const SquareImage& image) { all_rows<4>(window, image); }

EXECUTORCH_WIDE void wide(const SquareWindow& window, const SquareImage& image) {
  all_rows<8>(window, image);
}

EXECUTORCH_WIDEST void widest(const SquareWindow& window, const SquareImage& image) {
  all_rows<16>(window, image);
}

}  // namespace

void convolve(const SquareWindow& window, const SquareImage& image) {
  static const auto function = for_this_processor(widest, wide, plain);
  function(window, image);
}

}  // namespace executorch::backends::xnnpack
