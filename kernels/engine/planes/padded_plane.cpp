// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/planes/padded_plane.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/pack/transpose_block.h>

namespace executorch::kernels::engine {
namespace {

/// Elements 0, 2, … to `even`, elements 1, 3, … to `odd`.
void deinterleave(const float* from, size_t count, float* even, float* odd) {
  const size_t whole = count / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) {
    const Four low = load_four(from + i), high = load_four(from + i + 4);
    store_four(__builtin_shufflevector(low, high, 0, 2, 4, 6), even + i / 2);
    store_four(__builtin_shufflevector(low, high, 1, 3, 5, 7), odd + i / 2);
  }
  for (size_t i = whole; i < count; ++i) {
    float* const to = i % 2 == 0 ? even : odd;
    to[i / 2] = from[i];
  }
}

}  // namespace

PaddedPlane::Dealt PaddedPlane::deal(size_t outputs, size_t kernel, size_t stride,
                                     size_t dilation) {
  const size_t extent = (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  const size_t phases = outputs > 1 ? stride : 1;
  return {extent, phases, divide_up(extent, phases)};
}

PaddedPlane::PaddedPlane(const Conv2dParams& p, ImageSize input, size_t slack)
    : params_(p), input_(input), output_(output_size(p, input)) {
  if (output_.height * output_.width == 0) return;
  rows_ = deal(output_.height, p.kernel_height, p.stride_height, p.dilation_height);
  columns_ = deal(output_.width, p.kernel_width, p.stride_width, p.dilation_width);
  const size_t places = rows_.phases * rows_.length * columns_.phases * columns_.length;
  floats_ = round_up(places + slack, kAlignment / sizeof(float));
  is_image_ = rows_.phases == 1 && columns_.phases == 1 && rows_.length == input.height &&
              columns_.length == input.width && p.pad_top == 0 && p.pad_left == 0;
}

size_t PaddedPlane::place(size_t y, size_t x) const {
  const size_t part = y % rows_.phases * columns_.phases + x % columns_.phases;
  return (part * rows_.length + y / rows_.phases) * columns_.length + x / columns_.phases;
}

size_t PaddedPlane::tap(size_t index) const {
  return place(index / params_.kernel_width * params_.dilation_height,
               index % params_.kernel_width * params_.dilation_width);
}

void PaddedPlane::fill(const float* image, float* plane) const {
  const size_t top = params_.pad_top, left = params_.pad_left, step = columns_.phases;
  const size_t rows = std::min(input_.height, rows_.extent - std::min(rows_.extent, top));
  const size_t columns = std::min(input_.width, columns_.extent - std::min(columns_.extent, left));
  for (size_t y = 0; y < rows; ++y, image += input_.width) {
    if (step == 1) {
      std::memcpy(plane + place(top + y, left), image, columns * sizeof(float));
    } else if (step == 2) {
      deinterleave(image, columns, plane + place(top + y, left), plane + place(top + y, left + 1));
    } else {
      for (size_t x = 0; x < columns; ++x) plane[place(top + y, left + x)] = image[x];
    }
  }
}

void PaddedPlane::collect(const float* places, size_t first, size_t count, float* out) const {
  const size_t width = output_.width, end = first + count;
  for (size_t y = first / pitch(); y * pitch() < end; ++y) {
    const size_t row = y * pitch(), begin = std::max(row, first), last = std::min(row + width, end);
    if (begin >= last) continue;
    std::memcpy(out + y * width + (begin - row), places + (begin - first),
                (last - begin) * sizeof(float));
  }
}

}  // namespace executorch::kernels::engine
