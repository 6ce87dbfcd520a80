// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Several points of a row at once. The windows of neighbours overlap: a number that is loaded once
// serves as many products as the window is wide, and a weight as many as there are points.
#include <executorch/kernels/engine/depthwise/row.h>

namespace executorch::kernels::engine {
namespace {

/// kLanes channels of kPoints points. in: where their columns are; weights: of the first channel.
template <size_t kLanes, size_t kPoints, class W>
ET_LANES_INLINE void sum_windows(const DepthwiseRow& row, const float* const* in,
                                 const float* weights, size_t channel, float* out) {
  using V = typename Lanes<kLanes>::Vector;
  constexpr size_t kColumns = W::columns_of(kPoints);
  V sum[kPoints];
#pragma GCC unroll 8
  for (size_t point = 0; point < kPoints; ++point) sum[point] = lanes_at<kLanes>(weights);
#pragma GCC unroll 8
  for (size_t y = 0; y < W::size; ++y) {
    V weight[W::size];
#pragma GCC unroll 8
    for (size_t x = 0; x < W::size; ++x) {
      weight[x] = lanes_at<kLanes>(weights + (1 + x * W::size + y) * kDepthwiseBlock);
    }
#pragma GCC unroll 20
    for (size_t column = 0; column < kColumns; ++column) {
      const V number = lanes_at<kLanes>(in[column * W::size + y] + channel);
#pragma GCC unroll 8
      for (size_t point = 0; point < kPoints; ++point) {
        const size_t x = column - point * W::stride;  // wraps before the window
        if (x < W::size) sum[point] += number * weight[x];
      }
    }
  }
#pragma GCC unroll 8
  for (size_t point = 0; point < kPoints; ++point) {
    clamp_lanes(sum[point], row.clamp_min, row.clamp_max);
    lanes_at<kLanes>(out + point * row.out_pixel_stride + channel) = sum[point];
  }
}

/// Whole vectors of the channels that are left.
template <size_t kLanes, size_t kPoints, class W>
ET_LANES_INLINE void sum_channels(const DepthwiseRow& row, const float* const* in, size_t& channel,
                                  float* out) {
  for (; channel + kLanes <= row.channels; channel += kLanes) {
    const float* const block = row.weights + channel / kDepthwiseBlock * W::block;
    sum_windows<kLanes, kPoints, W>(row, in, block + channel % kDepthwiseBlock, channel, out);
  }
}

template <size_t kLanes, size_t kPoints, class W>
ET_LANES_INLINE void sum_points(const DepthwiseRow& row, size_t point) {
  constexpr size_t kColumns = W::columns_of(kPoints);
  const float* in[kColumns * W::size];
  find_columns<W::size>(row, point * W::stride, kColumns, in);
  float* const out = row.out + point * row.out_pixel_stride;
  size_t channel = 0;
  sum_channels<kLanes, kPoints, W>(row, in, channel, out);
  if (kLanes > 8) sum_channels<8, kPoints, W>(row, in, channel, out);
  if (kLanes > 4) sum_channels<4, kPoints, W>(row, in, channel, out);
  if (kLanes > 1) sum_channels<1, kPoints, W>(row, in, channel, out);
}

template <size_t kLanes, size_t kPoints, class W>
ET_LANES_INLINE void sum_row(const DepthwiseRow& given) {
  const DepthwiseRow row = given;  // a copy that no store can alias
  size_t point = 0;
  for (; point + kPoints <= row.width; point += kPoints) {
    sum_points<kLanes, kPoints, W>(row, point);
  }
  if (kPoints > 3 && point + 3 <= row.width) {
    sum_points<kLanes, 3, W>(row, point);
    point += 3;
  }
  for (; point < row.width; ++point) sum_points<kLanes, 1, W>(row, point);
}

#define ET_DEPTHWISE_KERNELS(suffix, set, TARGET, kLanes, kPoints)    \
  template <size_t kSize, size_t kStride>                             \
  TARGET void row_##suffix(const DepthwiseRow& row) {                 \
    sum_row<kLanes, kPoints, Window<kSize, kStride>>(row);            \
  }                                                                   \
  DepthwiseRowFunction find_##suffix(size_t window, size_t stride) {  \
    if (stride != 1 && stride != 2) return nullptr;                   \
    switch (window) {                                                 \
      case 3:                                                         \
        return stride == 1 ? row_##suffix<3, 1> : row_##suffix<3, 2>; \
      case 5:                                                         \
        return stride == 1 ? row_##suffix<5, 1> : row_##suffix<5, 2>; \
      case 7:                                                         \
        return stride == 1 ? row_##suffix<7, 1> : row_##suffix<7, 2>; \
      default:                                                        \
        return nullptr;                                               \
    }                                                                 \
  }
#include <executorch/kernels/engine/depthwise/kernels.inc>
#undef ET_DEPTHWISE_KERNELS

}  // namespace

DepthwiseRowFunction depthwise_row_function(InstructionSet set, size_t window, size_t stride) {
  DepthwiseRowFunction function = nullptr;
#define ET_DEPTHWISE_KERNELS(suffix, lowest, TARGET, kLanes, kPoints) \
  if (set >= InstructionSet::lowest) function = find_##suffix(window, stride);
#include <executorch/kernels/engine/depthwise/kernels.inc>
#undef ET_DEPTHWISE_KERNELS
  return function;
}

}  // namespace executorch::kernels::engine
