// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/planes/window_3x3.h>

#include <algorithm>

#include <executorch/kernels/engine/vectors.h>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kTaps = 3, kRowsAtOnce = 4;

/// kLanes neighbouring outputs of kRows rows, from column `at` of the input rows on.
template <size_t kLanes, size_t kRows>
ET_LANES_INLINE void sum_block(const Plane3x3& p, const typename Lanes<kLanes>::Vector* weights,
                               const float* const* in, size_t at, float* out) {
  using V = typename Lanes<kLanes>::Vector;
  V sums[kRows];
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) sums[r] = V{} + p.bias;
#pragma GCC unroll 6
  for (size_t y = 0; y < kRows + kTaps - 1; ++y) {
#pragma GCC unroll 3
    for (size_t x = 0; x < kTaps; ++x) {
      const V element = lanes_at<kLanes>(in[y] + at + x);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        if (y >= r && y - r < kTaps) sums[r] += weights[(y - r) * kTaps + x] * element;
      }
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
    clamp_lanes(sums[r], p.clamp_min, p.clamp_max);
    lanes_at<kLanes>(out + r * p.out_columns) = sums[r];
  }
}

template <size_t kLanes, size_t kRows>
ET_LANES_INLINE void sum_columns(const Plane3x3& p, const float* const* in, size_t begin,
                                 size_t end, size_t& i, float* out) {
  using V = typename Lanes<kLanes>::Vector;
  V weights[kTaps * kTaps];
#pragma GCC unroll 9
  for (size_t t = 0; t < kTaps * kTaps; ++t) weights[t] = V{} + p.weights[t];
  for (; i + kLanes <= end; i += kLanes) {
    sum_block<kLanes, kRows>(p, weights, in, i - begin, out + i);
  }
  if (i < end && end - begin >= kLanes) {  // overlaps the last block
    sum_block<kLanes, kRows>(p, weights, in, end - kLanes - begin, out + end - kLanes);
    i = end;
  }
}

/// One output of kRows rows, where windows reach beyond the image's columns.
template <size_t kRows>
ET_LANES_INLINE void sum_edge(const Plane3x3& p, const float* const* in, size_t column,
                              float* out) {
  for (size_t r = 0; r < kRows; ++r) {
    float sum = p.bias;
    for (size_t y = 0; y < kTaps; ++y) {
      for (size_t x = 0; x < kTaps; ++x) {
        const size_t from = column + x - p.pad_left;  // wraps left of the image
        const float element = from < p.in_columns ? in[y + r][from] : 0.0f;
        sum += p.weights[y * kTaps + x] * element;
      }
    }
    clamp_lanes(sum, p.clamp_min, p.clamp_max);
    out[r * p.out_columns + column] = sum;
  }
}

/// in: the rows that kRows rows of outputs read.
template <size_t kLanes, size_t kRows>
ET_LANES_INLINE void sum_rows(const Plane3x3& p, const float* const* in, float* out) {
  const size_t columns = p.out_columns, begin = std::min(p.pad_left, columns);
  const size_t end =
      p.in_columns < kTaps ? begin : std::min(columns, begin + p.in_columns - (kTaps - 1));
  for (size_t i = 0; i < begin; ++i) sum_edge<kRows>(p, in, i, out);
  for (size_t i = end; i < columns; ++i) sum_edge<kRows>(p, in, i, out);
  size_t i = begin;
  sum_columns<kLanes, kRows>(p, in, begin, end, i, out);
  if constexpr (kLanes > 1) sum_columns<1, kRows>(p, in, begin, end, i, out);
}

template <size_t kLanes>
ET_LANES_INLINE void sum_plane(const Plane3x3& given) {
  const Plane3x3 p = given;  // a copy that no store can alias
  const float* in[kRowsAtOnce + kTaps - 1];
  for (size_t y = 0; y < p.out_rows;) {
    const size_t rows = p.out_rows - y >= kRowsAtOnce ? kRowsAtOnce : 1;
    for (size_t k = 0; k < rows + kTaps - 1; ++k) {
      const size_t from = y + k - p.pad_top;  // wraps above the image
      in[k] = from < p.in_rows ? p.in + from * p.in_columns : p.zeros;
    }
    float* const out = p.out + y * p.out_columns;
    if (rows == kRowsAtOnce) {
      sum_rows<kLanes, kRowsAtOnce>(p, in, out);
    } else {
      sum_rows<kLanes, 1>(p, in, out);
    }
    y += rows;
  }
}

void scalar(const Plane3x3& p) { sum_plane<1>(p); }
void plain(const Plane3x3& p) { sum_plane<4>(p); }
#if defined(__x86_64__)
ET_TARGET_AVX2 void avx2(const Plane3x3& p) { sum_plane<8>(p); }
ET_TARGET_AVX512 void avx512(const Plane3x3& p) { sum_plane<16>(p); }
#endif

}  // namespace

Plane3x3Function plane_3x3_function(InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return avx512;
  if (set >= InstructionSet::Avx2) return avx2;
#endif
  return set == InstructionSet::Scalar ? scalar : plain;
}

}  // namespace executorch::kernels::engine
