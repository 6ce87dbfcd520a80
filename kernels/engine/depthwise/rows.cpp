// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Some rows of points at once, for AVX-512. The windows of rows below each other overlap as those
// of neighbours do (one_row.cpp): row after row, a channel of the image would be read as often as
// the window is high, most of it from the second-level cache. Each sum is the same to the bit.
#include <executorch/kernels/engine/depthwise/row.h>

namespace executorch::kernels::engine {

#if defined(__x86_64__)
namespace {

/// kRows rows of kPoints points each, and the part of the image that their windows cover.
template <class W, size_t kRows, size_t kPoints>
struct Block {
  static constexpr size_t rows = kRows, points = kPoints;
  static constexpr size_t height = W::columns_of(kRows), width = W::columns_of(kPoints);
  static constexpr size_t step = kPoints * W::stride;  ///< columns to the next block
  static constexpr size_t shared = width - step;       ///< columns of a block and the next one
};

template <size_t kLanes, class W, class B>
ET_LANES_INLINE void sum_block(const DepthwiseRow& row, const float* const* in, size_t channel,
                               float* out) {
  using V = typename Lanes<kLanes>::Vector;
  const float* const weights =
      row.weights + channel / kDepthwiseBlock * W::block + channel % kDepthwiseBlock;
  V sum[B::rows][B::points];
  const V bias = lanes_at<kLanes>(weights);
#pragma GCC unroll 4
  for (size_t r = 0; r < B::rows; ++r) {
#pragma GCC unroll 8
    for (size_t point = 0; point < B::points; ++point) sum[r][point] = bias;
  }
#pragma GCC unroll 16
  for (size_t y = 0; y < B::height; ++y) {
    V weight[B::rows][W::size];
#pragma GCC unroll 4
    for (size_t r = 0; r < B::rows; ++r) {
      const size_t in_window = y - r * W::stride;  // wraps above the window
      if (in_window >= W::size) continue;
#pragma GCC unroll 8
      for (size_t x = 0; x < W::size; ++x) {
        weight[r][x] = lanes_at<kLanes>(weights + (1 + x * W::size + in_window) * kDepthwiseBlock);
      }
    }
#pragma GCC unroll 16
    for (size_t column = 0; column < B::width; ++column) {
      const V number = lanes_at<kLanes>(in[column * B::height + y] + channel);
#pragma GCC unroll 4
      for (size_t r = 0; r < B::rows; ++r) {
        if (y - r * W::stride >= W::size) continue;
#pragma GCC unroll 8
        for (size_t point = 0; point < B::points; ++point) {
          const size_t x = column - point * W::stride;  // wraps before the window
          if (x < W::size) sum[r][point] += number * weight[r][x];
        }
      }
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < B::rows; ++r) {
#pragma GCC unroll 8
    for (size_t point = 0; point < B::points; ++point) {
      clamp_lanes(sum[r][point], row.clamp_min, row.clamp_max);
      lanes_at<kLanes>(out + r * row.out_row_stride + point * row.out_pixel_stride + channel) =
          sum[r][point];
    }
  }
}

/// Whole blocks; where no whole one is left, some points are computed again.
template <class W, class B>
ET_TARGET_AVX512 void sum_rows(const DepthwiseRow& given) {
  const DepthwiseRow row = given;  // a copy that no store can alias
  const float* in[B::width * B::height];
  find_columns<B::height>(row, 0, B::shared, in);
  for (size_t point = 0; point < row.width; point += B::points) {
    if (point + B::points > row.width) {
      point = row.width - B::points;
      find_columns<B::height>(row, point * W::stride, B::shared, in);
    }
    find_columns<B::height>(row, point * W::stride + B::shared, B::step,
                            in + B::shared * B::height);
    float* const out = row.out + point * row.out_pixel_stride;
    size_t channel = 0;
    for (; channel + 16 <= row.channels; channel += 16) sum_block<16, W, B>(row, in, channel, out);
    if (channel < row.channels) sum_block<8, W, B>(row, in, channel, out);
    for (size_t i = 0; i < B::shared * B::height; ++i) in[i] = in[i + B::step * B::height];
  }
}

}  // namespace
#endif

DepthwiseRowFunction depthwise_rows_function([[maybe_unused]] InstructionSet set,
                                             [[maybe_unused]] size_t window,
                                             [[maybe_unused]] size_t stride,
                                             [[maybe_unused]] const DepthwiseRow& row,
                                             [[maybe_unused]] size_t* rows) {
#if defined(__x86_64__)
  constexpr size_t kPoints = 4;
  if (set < InstructionSet::Avx512 || row.width < kPoints || row.channels % 8 != 0) return nullptr;
  *rows = stride == 2 ? 2 : 3;
  using Small = Window<3, 1>;
  using Strided = Window<3, 2>;
  using Large = Window<5, 1>;
  if (window == 3 && stride == 1) return sum_rows<Small, Block<Small, 3, kPoints>>;
  if (window == 3 && stride == 2) return sum_rows<Strided, Block<Strided, 2, kPoints>>;
  if (window == 5 && stride == 1) return sum_rows<Large, Block<Large, 3, kPoints>>;
#endif
  return nullptr;
}

}  // namespace executorch::kernels::engine
