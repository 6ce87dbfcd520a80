// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "depthwise_rows.h"

#include "depthwise_large.h"

#include "xnnpack/common.h"

#if XNN_ARCH_X86_64
#include "depthwise_window.h"
#include "float_lanes.h"
#include "xnnpack/dwconv.h"

namespace {

using executorch_lanes::at;
using executorch_lanes::Of;

// What a row of points is computed from.
struct Row {
  size_t channels;
  const float** input;
  const float* weights;
  float* output;
  size_t output_stride;
  size_t offset;
  const float* zero;
  float least, most;
};

// Channels of kPoints points. in: where their columns are; weights: those of the first channel.
template <size_t kLanes, size_t kPoints, class W>
INLINE void sum_windows(const Row& row, const float* const* in, const float* weights,
                        size_t channel) {
  using V = typename Of<kLanes>::Vector;
  constexpr size_t kColumns = W::columns_of(kPoints);
  V sum[kPoints];
#pragma GCC unroll 8
  for (size_t point = 0; point < kPoints; ++point) sum[point] = at<kLanes>(weights);
#pragma GCC unroll 8
  for (size_t y = 0; y < W::size; ++y) {
    V weight[W::size];
#pragma GCC unroll 8
    for (size_t x = 0; x < W::size; ++x) {
      weight[x] = at<kLanes>(weights + (1 + x * W::size + y) * W::packed);
    }
#pragma GCC unroll 20
    for (size_t column = 0; column < kColumns; ++column) {
      const V number = at<kLanes>(in[column * W::size + y] + channel);
#pragma GCC unroll 8
      for (size_t point = 0; point < kPoints; ++point) {
        const size_t x = column - point * W::step;  // wraps before the window
        if (x < W::size) sum[point] += number * weight[x];
      }
    }
  }
  const V least = V{} + row.least, most = V{} + row.most;
#pragma GCC unroll 8
  for (size_t point = 0; point < kPoints; ++point) {
    store_limited<kLanes>(row.output + point * row.output_stride + channel, sum[point], least,
                          most);
  }
}

// Whole vectors of the channels that are left.
template <size_t kLanes, size_t kPoints, class W>
INLINE void sum_channels(const Row& row, const float* const* in, size_t& channel) {
  for (; channel + kLanes <= row.channels; channel += kLanes) {
    const float* const block = row.weights + channel / W::packed * W::block;
    sum_windows<kLanes, kPoints, W>(row, in, block + channel % W::packed, channel);
  }
}

template <size_t kLanes, size_t kPoints, class W>
INLINE void compute_points(Row& row) {
  constexpr size_t kInputs = W::columns_of(kPoints) * W::size;
  const float* in[kInputs];
  for (size_t i = 0; i < kInputs; ++i) {
    in[i] = place_of_point(row.input[i], row.zero, row.offset);
  }
  size_t channel = 0;
  sum_channels<kLanes, kPoints, W>(row, in, channel);
  if (kLanes > 8) sum_channels<8, kPoints, W>(row, in, channel);
  sum_channels<4, kPoints, W>(row, in, channel);
  sum_channels<1, kPoints, W>(row, in, channel);
  row.input += kPoints * W::step * W::size;
  row.output += kPoints * row.output_stride;
}

template <size_t kLanes, class W>
INLINE void compute_row(Row row, size_t width) {
  // Each point takes a vector, and so do the weights of a row of the window.
  for (; width >= 7; width -= 7) compute_points<kLanes, 7, W>(row);
  if (width >= 3) {
    compute_points<kLanes, 3, W>(row);
    width -= 3;
  }
  for (; width != 0; --width) compute_points<kLanes, 1, W>(row);
}

executorch_depthwise_rows* for_any_window() {
  return reinterpret_cast<executorch_depthwise_rows*>(
      executorch_find_row_of_windows(executorch_floats));
}

}  // namespace

// kLanes: of the processor's vectors. theirs: for other windows of as many points, packed alike.
#define KERNEL(name, processor, kLanes, kSize, kPacked, theirs)                                    \
  extern "C" processor void executorch_f32_depthwise_##name(                                       \
      size_t channels, size_t width, const float** input, const float* weights, float* output,     \
      intptr_t input_stride, size_t increment, size_t input_offset, const float* zero,             \
      const void* params) {                                                                        \
    const auto* const limits = static_cast<const union xnn_f32_minmax_params*>(params);            \
    const Row row = {channels,                                                                     \
                     input,                                                                        \
                     weights,                                                                      \
                     output,                                                                       \
                     channels + increment / sizeof(float),                                         \
                     input_offset,                                                                 \
                     zero,                                                                         \
                     limits->scalar.min,                                                           \
                     limits->scalar.max};                                                          \
    const intptr_t column = kSize * sizeof(void*);                                                 \
    if (input_stride == column) {                                                                  \
      compute_row<kLanes, Window<kSize, 1, kPacked>>(row, width);                                  \
    } else if (input_stride == 2 * column) {                                                       \
      compute_row<kLanes, Window<kSize, 2, kPacked>>(row, width);                                  \
    } else {                                                                                       \
      theirs(channels, width, input, weights, output, input_stride, increment, input_offset, zero, \
             limits);                                                                              \
    }                                                                                              \
  }

KERNEL(9p16c_avx512, AVX512, 16, 3, 16, xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f)
KERNEL(25p16c_avx512, AVX512, 16, 5, 16, xnn_f32_dwconv_minmax_ukernel_25p16c__avx512f)
KERNEL(49p16c_avx512, AVX512, 16, 7, 16, for_any_window())
KERNEL(9p16c_fma3, AVX2, 8, 3, 16, xnn_f32_dwconv_minmax_ukernel_9p16c__fma3)
KERNEL(25p8c_fma3, AVX2, 8, 5, 8, xnn_f32_dwconv_minmax_ukernel_25p8c__fma3)
#endif
