// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/planes/planes.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/planes/window_3x3.h>

namespace executorch::kernels::engine {
namespace {

/// A row of outputs of one plane.
struct PlaneRow {
  const Conv2dParams* params;
  size_t plane_row, part_width;
  const float *in, *weights;
  float bias, clamp_min, clamp_max;
  float* out;
  size_t count;
};

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/planes/any_window.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// With more taps, or narrower images, bringing channels together pays (measured).
constexpr size_t kMaxTaps = 9, kMinWidth = 96, kMinWidth3x3 = 40;

bool is_3x3(const Conv2dParams& p) {
  return p.kernel_height == 3 && p.kernel_width == 3 && p.stride_height == 1 &&
         p.stride_width == 1 && p.dilation_height == 1 && p.dilation_width == 1;
}

/// How a padded plane lies in scratch memory: the columns of each row are dealt to stride_width
/// parts of `width`, so that neighbouring outputs read neighbours.
struct Layout {
  ImageSize output;
  size_t width, row, floats;
};

Layout layout_of(const Conv2dParams& p, ImageSize input) {
  const ImageSize output = output_size(p, input);
  Layout layout = {output, 0, 0, 0};
  if (output.height * output.width == 0) return layout;
  const size_t high = (p.kernel_height - 1) * p.dilation_height + 1;
  const size_t wide = (p.kernel_width - 1) * p.dilation_width + 1;
  layout.width = output.width - 1 + divide_up(wide, p.stride_width);
  layout.row = layout.width * p.stride_width;
  layout.floats = round_up(((output.height - 1) * p.stride_height + high) * layout.row,
                           kAlignment / sizeof(float));
  return layout;
}

/// Copies an image into a plane whose padding is zeros already.
void place(const Conv2dParams& p, const float* image, ImageSize size, const Layout& layout,
           float* plane) {
  const size_t height = layout.floats / layout.row, step = p.stride_width;
  const size_t rows = std::min(size.height, height - std::min(height, p.pad_top));
  for (size_t y = 0; y < rows; ++y) {
    const float* const from = image + y * size.width;
    float* const row = plane + (p.pad_top + y) * layout.row;
    for (size_t part = 0; part < step; ++part) {
      // The first of the image's columns that is dealt to this part, and its place.
      const size_t first = (part + step - p.pad_left % step) % step;
      const size_t at = (p.pad_left + first) / step;
      if (first >= size.width || at >= layout.width) continue;
      const size_t count = std::min(divide_up(size.width - first, step), layout.width - at);
      float* const to = row + part * layout.width + at;
      for (size_t i = 0; i < count; ++i) to[i] = from[first + i * step];
    }
  }
}

}  // namespace

bool planes_gain(const Conv2dParams& p, ImageSize input) {
  const bool is_plain = !p.transposed && p.group_inputs == 1 && p.group_outputs == 1;
  return is_plain && p.kernel_height * p.kernel_width <= kMaxTaps &&
         input.width >= (is_3x3(p) ? kMinWidth3x3 : kMinWidth);
}

size_t planes_scratch_bytes(const Conv2dParams& p, ImageSize input, size_t threads) {
  if (is_3x3(p)) return round_up(input.width, kAlignment / sizeof(float)) * sizeof(float);
  return threads * layout_of(p, input).floats * sizeof(float);
}

void convolve_planes(const Conv2dParams& p, const PlanesCall& call, Threads& threads,
                     InstructionSet set) {
  const Layout layout = layout_of(p, call.input_size);
  const size_t in_plane = call.input_size.height * call.input_size.width;
  const size_t out_plane = layout.output.height * layout.output.width;
  if (out_plane == 0) return;
  auto* const scratch = static_cast<float*>(call.scratch);
  std::memset(scratch, 0, planes_scratch_bytes(p, call.input_size, threads.count()));
  const auto plane_3x3 = plane_3x3_function(set);
  const auto sum = ET_SIMD_FUNCTION(set, sum_row);
  for_each_item(threads, call.batch * p.groups, [&](size_t item, size_t worker) {
    const size_t channel = item % p.groups;
    const float* const weights = call.weights + channel * p.kernel_height * p.kernel_width;
    const float bias = call.bias == nullptr ? 0.0f : call.bias[channel];
    const float* const in = call.in + item * in_plane;
    float* const out = call.out + item * out_plane;
    if (is_3x3(p)) {
      plane_3x3({weights, bias, call.clamp_min, call.clamp_max, in, call.input_size.height,
                 call.input_size.width, p.pad_top, p.pad_left, scratch, out, layout.output.height,
                 layout.output.width});
      return;
    }
    float* const plane = scratch + worker * layout.floats;
    place(p, in, call.input_size, layout, plane);
    for (size_t y = 0; y < layout.output.height; ++y) {
      sum({&p, layout.row, layout.width, plane + y * p.stride_height * layout.row, weights, bias,
           call.clamp_min, call.clamp_max, out + y * layout.output.width, layout.output.width});
    }
  });
}

}  // namespace executorch::kernels::engine
