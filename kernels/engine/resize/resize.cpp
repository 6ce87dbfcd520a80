// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/resize/resize.h>

#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {
namespace {

/// The four pixels of a result.
struct Blend {
  const float *top_left, *top_right, *bottom_left, *bottom_right;
  float across, down;
  float* out;
  size_t channels;
};

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/resize/blend.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// The two source coordinates of an output coordinate, and the weight of the second.
struct Source {
  size_t low, high;
  float weight;
};

float scale_of(size_t in, size_t out, bool align_corners, float given) {
  if (align_corners) return out > 1 ? float(in - 1) / float(out - 1) : 0.0f;
  return given > 0 ? given : float(in) / float(out);
}

Source source_of(size_t out, size_t size, float scale, bool align_corners) {
  const float at =
      align_corners ? scale * float(out) : std::max(scale * (float(out) + 0.5f) - 0.5f, 0.0f);
  const size_t low = std::min(size_t(at), size - 1);
  return {low, std::min(low + 1, size - 1), std::min(std::max(at - float(low), 0.0f), 1.0f)};
}

}  // namespace

void resize_bilinear(const ResizeCall& call, Threads& threads, InstructionSet set) {
  const ImageSize in = call.input_size, out = call.output_size;
  if (in.height * in.width == 0) return;
  const float down = scale_of(in.height, out.height, call.align_corners, call.scale_height);
  const float across = scale_of(in.width, out.width, call.align_corners, call.scale_width);
  const auto blend = ET_SIMD_FUNCTION(set, blend_pixel);
  const size_t lines = call.batch * out.height;
  for_each_rows(threads, lines, out.width * call.channels, [&](size_t first, size_t count) {
    for (size_t line = first; line < first + count; ++line) {
      const Source y = source_of(line % out.height, in.height, down, call.align_corners);
      const float* const image =
          call.input + line / out.height * in.height * in.width * call.channels;
      const float* const top = image + y.low * in.width * call.channels;
      const float* const bottom = image + y.high * in.width * call.channels;
      for (size_t column = 0; column < out.width; ++column) {
        const Source x = source_of(column, in.width, across, call.align_corners);
        blend({top + x.low * call.channels, top + x.high * call.channels,
               bottom + x.low * call.channels, bottom + x.high * call.channels, x.weight, y.weight,
               call.output + (line * out.width + column) * call.channels, call.channels});
      }
    }
  });
}

}  // namespace executorch::kernels::engine
