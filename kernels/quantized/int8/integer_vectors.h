// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The loops of integer_loops.h for the instruction set of the including source file. They are in an
// unnamed namespace, because every such file needs its own copy.
#pragma once

#include <executorch/kernels/quantized/int8/rounding.h>

#include <cstring>
#include <utility>

#if ET_PAIRED_PRODUCTS
#include <immintrin.h>
#endif

namespace executorch::kernels::quantized {
namespace {

#if ET_PAIRED_PRODUCTS
#ifdef __AVX2__
struct Pairs {
  using Lanes = __m256i;
  static constexpr int kRows = 6;
  static Lanes zero() { return _mm256_setzero_si256(); }
  static Lanes load(const int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Lanes widened(const int8_t* from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Lanes repeated(int32_t pair) { return _mm256_set1_epi32(pair); }
  static Lanes plus_products(Lanes sum, Lanes a, Lanes b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  }
  /// Adds the products of two rows with a pair of weights to sums, which are in column order.
  static void plus_taps(Lanes a, Lanes b, Lanes weights, Lanes* sums) {
    sums[0] = plus_products(sums[0], _mm256_unpacklo_epi16(a, b), weights);
    sums[1] = plus_products(sums[1], _mm256_unpackhi_epi16(a, b), weights);
  }
  static void store_taps(int32_t* to, const Lanes* sums) {
    store(to, _mm256_permute2x128_si256(sums[0], sums[1], 0x20));
    store(to + 8, _mm256_permute2x128_si256(sums[0], sums[1], 0x31));
  }
  static void store(int32_t* to, Lanes lanes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), lanes);
  }
};
#else
struct Pairs {
  using Lanes = __m128i;
  static constexpr int kRows = 4;
  static Lanes zero() { return _mm_setzero_si128(); }
  static Lanes load(const int16_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static Lanes widened(const int8_t* from) {
    const Lanes bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
  }
  static Lanes repeated(int32_t pair) { return _mm_set1_epi32(pair); }
  static Lanes plus_products(Lanes sum, Lanes a, Lanes b) {
    return _mm_add_epi32(sum, _mm_madd_epi16(a, b));
  }
  static void plus_taps(Lanes a, Lanes b, Lanes weights, Lanes* sums) {
    sums[0] = plus_products(sums[0], _mm_unpacklo_epi16(a, b), weights);
    sums[1] = plus_products(sums[1], _mm_unpackhi_epi16(a, b), weights);
  }
  static void store_taps(int32_t* to, const Lanes* sums) {
    store(to, sums[0]);
    store(to + 4, sums[1]);
  }
  static void store(int32_t* to, Lanes lanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), lanes);
  }
};
#endif

constexpr int kLanes = sizeof(Pairs::Lanes) / sizeof(int32_t);
constexpr int kVectors = 2;
constexpr int kRows = Pairs::kRows;
constexpr int kColumns = kVectors * kLanes;

template <int rows>
void tile(int64_t k, const Factor* a, int64_t a_step, const Factor* b, int32_t* c) {
  Pairs::Lanes sums[rows][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Pairs::zero();
  }
  for (int64_t p = 0; p < k; p += 2, b += 2 * kColumns) {
    Pairs::Lanes columns[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) columns[v] = Pairs::load(b + v * 2 * kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
      int32_t pair;
      std::memcpy(&pair, a + i * a_step + p, sizeof(pair));
      const Pairs::Lanes row = Pairs::repeated(pair);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = Pairs::plus_products(sums[i][v], row, columns[v]);
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) Pairs::store(c + i * kColumns + v * kLanes, sums[i][v]);
  }
}

/// `dots` of kX inputs with kW rows of weights.
template <int kX, int kW>
void dot_block(int64_t k, const Factor* x, int64_t x_step, const int8_t* w, int64_t w_step,
               int32_t* c, int64_t c_step) {
  constexpr int kStep = 2 * kLanes;
  Pairs::Lanes sums[kX][kW];
#pragma GCC unroll 4
  for (int i = 0; i < kX; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kW; ++j) sums[i][j] = Pairs::zero();
  }
  int64_t p = 0;
  for (; p + kStep <= k; p += kStep) {
#pragma GCC unroll 4
    for (int j = 0; j < kW; ++j) {
      const Pairs::Lanes weights = Pairs::widened(w + j * w_step + p);
#pragma GCC unroll 4
      for (int i = 0; i < kX; ++i) {
        sums[i][j] = Pairs::plus_products(sums[i][j], Pairs::load(x + i * x_step + p), weights);
      }
    }
  }
  for (int i = 0; i < kX; ++i) {
    for (int j = 0; j < kW; ++j) {
      int32_t lanes[kLanes];
      Pairs::store(lanes, sums[i][j]);
      int32_t sum = 0;
      for (const int32_t lane : lanes) sum += lane;
      for (int64_t q = p; q < k; ++q) sum += x[i * x_step + q] * w[j * w_step + q];
      c[i * c_step + j] = sum;
    }
  }
}

template <int kX, int kW>
void dot_rows(int64_t k, const Factor* x, int64_t x_step, const int8_t* w, int64_t w_step,
              int64_t n, int32_t* c, int64_t c_step) {
  int64_t j = 0;
  for (; j + kW <= n; j += kW) {
    dot_block<kX, kW>(k, x, x_step, w + j * w_step, w_step, c + j, c_step);
  }
  for (; j < n; ++j) dot_block<kX, 1>(k, x, x_step, w + j * w_step, w_step, c + j, c_step);
}

void dots(int64_t k, const Factor* x, int64_t x_step, int inputs, const int8_t* w, int64_t w_step,
          int64_t n, int32_t* c, int64_t c_step) {
  if (inputs == IntegerLoops::kInputs) {
    return dot_rows<IntegerLoops::kInputs, 2>(k, x, x_step, w, w_step, n, c, c_step);
  }
  for (int i = 0; i < inputs; ++i) {
    dot_rows<1, 4>(k, x + i * x_step, x_step, w, w_step, n, c + i * c_step, c_step);
  }
}

void tap_sums(const Factor* in, const int32_t* offsets, const Factor* weights, int64_t taps,
              int32_t* sums, int64_t n) {
  for (int64_t q = 0; q < n; q += 2 * kLanes) {
    Pairs::Lanes lanes[2] = {Pairs::zero(), Pairs::zero()};
    for (int64_t t = 0; t < taps; t += 2) {
      int32_t pair;
      std::memcpy(&pair, weights + t, sizeof(pair));
      Pairs::plus_taps(Pairs::load(in + offsets[t] + q), Pairs::load(in + offsets[t + 1] + q),
                       Pairs::repeated(pair), lanes);
    }
    Pairs::store_taps(sums + q, lanes);
  }
}

#else  // one product at a time

constexpr int kRows = 1;
constexpr int kColumns = 4;

template <int rows>
void tile(int64_t k, const Factor* a, int64_t, const Factor* b, int32_t* c) {
  int32_t sums[kColumns] = {};
  for (; k > 0; --k, ++a, b += kColumns) {
    const int32_t factor = *a;
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sums[j] += factor * b[j];
  }
  std::memcpy(c, sums, sizeof(sums));
}

void dots(int64_t k, const Factor* x, int64_t x_step, int inputs, const int8_t* w, int64_t w_step,
          int64_t n, int32_t* c, int64_t c_step) {
  for (int i = 0; i < inputs; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x[i * x_step + p] * w[j * w_step + p];
      c[i * c_step + j] = sum;
    }
  }
}
#endif

void interleave(const int8_t* const* rows, Factor* to) {
  for (int j = 0; j < kColumns; ++j) {
    for (int r = 0; r < kTogether; ++r) to[j * kTogether + r] = rows[r][j];
  }
}

void widen(const int8_t* from, Factor* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

void requantize(const int32_t* sums, const float* scales, const float* offsets, bool one_each,
                const Limits& limits, int8_t* out, int64_t n) {
  const Limits copy = limits;  // a copy, which `out` cannot alias
  if (one_each) {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = rounded(static_cast<float>(sums[i]) * scales[i] + offsets[i], copy);
    }
    return;
  }
  const float scale = *scales, offset = *offsets;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = rounded(static_cast<float>(sums[i]) * scale + offset, copy);
  }
}

void requantize_tile(const int32_t* sums, int64_t rows, const float* scales, const float* offsets,
                     const Limits& limits, int8_t* out, int64_t step) {
  const Limits copy = limits;
  for (int64_t i = 0; i < rows; ++i) {
    const float scale = scales[i], offset = offsets[i];
    int8_t row[kColumns];
    for (int j = 0; j < kColumns; ++j) {
      row[j] = rounded(static_cast<float>(sums[i * kColumns + j]) * scale + offset, copy);
    }
    std::memcpy(out + i * step, row, kColumns);
  }
}

template <int... row>
constexpr IntegerLoops loops_of(std::integer_sequence<int, row...>) {
  static_assert(kRows <= IntegerLoops::kMaxRows && kColumns <= IntegerLoops::kMaxColumns, "");
  return {kRows,
          kColumns,
          {&tile<row + 1>...},
          &interleave,
          &widen,
          &dots,
#if ET_PAIRED_PRODUCTS
          &tap_sums,
#endif
          &requantize_tile,
          &requantize};
}
constexpr IntegerLoops kLoops = loops_of(std::make_integer_sequence<int, kRows>{});

}  // namespace
}  // namespace executorch::kernels::quantized
