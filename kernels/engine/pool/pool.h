// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling of float32 images in NHWC. Strides count floats. `output` must not overlap `input`.
//
//   max:     the largest element of the window that lies in the image; NaN if one is NaN
//   average: their sum / divisor (0: the number of the window's points, with or without padding)
//
// A window without any point of the image gives -infinity (max) or 0 (average).
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct PoolCall {
  size_t kernel_height = 1, kernel_width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  size_t pad_top = 0, pad_left = 0;
  size_t batch = 0, channels = 0;
  ImageSize input_size, output_size;
  const float* input = nullptr;
  size_t input_pixel_stride = 0;
  float* output = nullptr;
  size_t output_pixel_stride = 0;
  float clamp_min = -INFINITY, clamp_max = INFINITY;
  /// max_pool2d() writes the place of each maximum in its plane, y * width + x, unless this is
  /// null; strides are those of the output. The place is that of the first maximum or of the last
  /// NaN. For a window without any point of the image it is that of its first tap beyond the
  /// padding before the image. With places, a plane must have fewer than 2^31 points, and
  /// max_pool2d() ignores the clamp.
  int64_t* places = nullptr;
};
void max_pool2d(const PoolCall& call, Threads& threads, InstructionSet set = instruction_set());

struct AveragePoolCall {
  PoolCall pool;
  bool count_include_pad = true;  ///< the divisor counts padding within the padded image
  size_t pad_bottom = 0, pad_right = 0;
  size_t divisor = 0;  ///< if not 0, in place of the count
};
void average_pool2d(const AveragePoolCall& call, Threads& threads,
                    InstructionSet set = instruction_set());

/// out[b, c] = clamp(sum over points of in[b, point, c] * scale): mean, sum and global pooling over
/// contiguous points of NHWC.
struct PointSumCall {
  size_t batch = 0, points = 0, channels = 0;
  const float* input = nullptr;
  float* output = nullptr;
  float scale = 1;
  float clamp_min = -INFINITY, clamp_max = INFINITY;
};
void sum_points(const PointSumCall& call, Threads& threads, InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
