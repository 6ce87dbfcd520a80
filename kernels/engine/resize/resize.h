// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Bilinear resizing of float32 images in NHWC, contiguous. With s the source coordinate of an
// output line or column y — y * (in - 1) / (out - 1) with align_corners, else (y + 0.5) * in / out
// - 0.5, not below 0 — the result blends the pixels at floor(s) and the next one by s - floor(s);
// at the last pixel the next one is itself.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct ResizeCall {
  size_t batch = 0, channels = 0;
  ImageSize input_size, output_size;
  const float* input = nullptr;
  float* output = nullptr;
  bool align_corners = false;
  /// Source steps per output step; 0 derives them from the sizes. Ignored with align_corners.
  float scale_height = 0, scale_width = 0;
};
void resize_bilinear(const ResizeCall& call, Threads& threads,
                     InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
