// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/transposed.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {
namespace {

/// The taps of one dimension that a phase reads: first, first + step, …
struct Taps {
  size_t first = 0, step = 1, count = 0;
};

/// Tap k reaches point y if (y + padding - k * dilation) is a multiple of the stride.
Taps taps_of(size_t phase, size_t kernel, size_t stride, size_t dilation, size_t padding) {
  Taps taps;
  size_t second = kernel;
  for (size_t k = 0; k < kernel; ++k) {
    if ((phase + padding + k * dilation * (stride - 1)) % stride != 0) continue;
    if (taps.count == 0) taps.first = k;
    if (taps.count == 1) second = k;
    ++taps.count;
  }
  if (taps.count > 1) taps.step = second - taps.first;
  return taps;
}

struct Phase {
  size_t y, x;
  Taps down, across;

  size_t taps() const { return down.count * across.count; }
};

size_t phases_of(const Conv2dParams& p) { return p.stride_height * p.stride_width; }

Phase phase_of(const Conv2dParams& p, size_t index) {
  const size_t y = index / p.stride_width, x = index % p.stride_width;
  return {y, x, taps_of(y, p.kernel_height, p.stride_height, p.dilation_height, p.pad_top),
          taps_of(x, p.kernel_width, p.stride_width, p.dilation_width, p.pad_left)};
}

size_t panels_of(const GemmTiles& tiles, const Conv2dParams& p) {
  return divide_up(p.group_outputs, tiles.panel);
}

/// Floats of a group's phases before `index`.
size_t floats_before(const GemmTiles& tiles, const Conv2dParams& p, size_t index) {
  size_t floats = 0;
  for (size_t i = 0; i < index; ++i) {
    floats += panels_of(tiles, p) * panel_floats(tiles, phase_of(p, i).taps() * p.group_inputs);
  }
  return floats;
}

size_t zero_floats(const Conv2dParams& p) {
  return round_up(p.group_inputs, kAlignment / sizeof(float));
}

size_t line_pointers(const Conv2dParams& p, ImageSize output) {
  const size_t points = divide_up(output.width, p.stride_width) + kMaxTileRows;
  return round_up(limited_product(points, p.kernel_height * p.kernel_width),
                  kAlignment / sizeof(float*));
}

/// The input coordinate that an output coordinate reads through a tap; wraps outside of the image.
size_t source_of(size_t out, size_t tap, size_t stride, size_t dilation, size_t padding,
                 size_t size) {
  const size_t at = out + padding, reach = tap * dilation;
  if (at < reach) return size;
  return (at - reach) / stride;
}

/// The pointers of a phase's points of one output line, grouped by `group` points.
void fill_line(const Conv2dParams& p, const Conv2dCall& call, const Phase& phase, size_t y,
               size_t points, size_t group, const float* zero, const float** to) {
  const ImageSize size = call.input_size;
  for (size_t begin = 0; begin < points; begin += group) {
    for (size_t i = 0; i < phase.down.count; ++i) {
      const size_t in_y = source_of(y, phase.down.first + i * phase.down.step, p.stride_height,
                                    p.dilation_height, p.pad_top, size.height);
      for (size_t j = 0; j < phase.across.count; ++j, to += group) {
        const size_t tap = phase.across.first + j * phase.across.step;
        for (size_t r = 0; r < group; ++r) {
          const size_t x = phase.x + (begin + r) * p.stride_width;
          const size_t in_x =
              source_of(x, tap, p.stride_width, p.dilation_width, p.pad_left, size.width);
          const bool is_inside = begin + r < points && in_y < size.height && in_x < size.width;
          to[r] =
              is_inside ? call.input + (in_y * size.width + in_x) * call.input_pixel_stride : zero;
        }
      }
    }
  }
}

}  // namespace

size_t transposed_packed_bytes(const GemmTiles& tiles, const Conv2dParams& p) {
  const size_t floats = p.groups * floats_before(tiles, p, phases_of(p));
  return round_up(floats * sizeof(float), kAlignment);
}

void pack_transposed(const GemmTiles& tiles, const Conv2dParams& p, const ConvWeights& weights,
                     float* packed) {
  float* to = packed;
  const size_t panel = tiles.panel;
  for (size_t group = 0; group < p.groups; ++group) {
    for (size_t index = 0; index < phases_of(p); ++index) {
      const Phase phase = phase_of(p, index);
      for (size_t column = 0; column < p.group_outputs; column += panel) {
        const size_t columns = std::min(panel, p.group_outputs - column);
        const size_t output = group * p.group_outputs + column;
        pack_bias(tiles, weights.bias == nullptr ? nullptr : weights.bias + output, columns, to);
        to += panel;
        for (size_t tap = 0; tap < phase.taps(); ++tap, to += p.group_inputs * panel) {
          const size_t y = phase.down.first + tap / phase.across.count * phase.down.step;
          const size_t x = phase.across.first + tap % phase.across.count * phase.across.step;
          const float* const from = weights.data + output * weights.output_stride +
                                    y * weights.y_stride + x * weights.x_stride;
          pack_weights(tiles, {from, weights.input_stride, weights.output_stride}, columns,
                       p.group_inputs, to, PackedUse::Later);
        }
      }
    }
  }
  std::fill(to, packed + transposed_packed_bytes(tiles, p) / sizeof(float), 0.0f);
}

size_t transposed_scratch_bytes(const Conv2dParams& p, ImageSize input, size_t threads) {
  const size_t pointers = line_pointers(p, output_size(p, input));
  return limited_sum(zero_floats(p) * sizeof(float),
                     limited_product(threads, limited_product(pointers, sizeof(float*))));
}

void convolve_transposed(const GemmTiles& tiles, const Conv2dParams& p, const Conv2dCall& call,
                         Threads& threads) {
  const ImageSize output = output_size(p, call.input_size);
  float* const zero = static_cast<float*>(call.scratch);
  std::memset(zero, 0, zero_floats(p) * sizeof(float));
  auto* const tables = reinterpret_cast<const float**>(zero + zero_floats(p));
  const size_t pointers = line_pointers(p, output);
  const size_t of_group = floats_before(tiles, p, phases_of(p));
  const size_t image_floats =
      call.input_size.height * call.input_size.width * call.input_pixel_stride;
  const auto activate = activation_function(call.epilogue.activation, tiles.set);
  // An item is a line of points of one phase.
  const size_t items = call.batch * p.groups * output.height * p.stride_width;
  for_each_item(threads, items, [&](size_t item, size_t worker) {
    const size_t phase_x = item % p.stride_width;
    const size_t y = item / p.stride_width % output.height;
    const size_t group = item / p.stride_width / output.height % p.groups;
    const size_t image = item / p.stride_width / output.height / p.groups;
    if (phase_x >= output.width) return;
    const size_t index = y % p.stride_height * p.stride_width + phase_x;
    const Phase phase = phase_of(p, index);
    Product product;
    product.tiles = &tiles;
    product.rows = divide_up(output.width - phase_x, p.stride_width);
    product.columns = p.group_outputs;
    product.parts = phase.taps();
    product.depth = p.group_inputs;
    const size_t most = max_table_rows(tiles, p.group_outputs);
    product.table_rows = divide_up(product.rows, divide_up(product.rows, most));
    const float** const table = tables + worker * pointers;
    fill_line(p, call, phase, y, product.rows, product.table_rows, zero, table);
    product.table = table;
    product.zero = zero;
    product.offset = (image * image_floats + group * p.group_inputs) * sizeof(float);
    product.packed = call.packed + group * of_group + floats_before(tiles, p, index);
    const size_t at =
        ((image * output.height + y) * output.width + phase_x) * call.output_pixel_stride +
        group * p.group_outputs;
    const size_t stride = p.stride_width * call.output_pixel_stride;
    product.write_to(call.output, at, stride, call.epilogue);
    run_product(product);
    activate_rows(activate, product.out, product.rows, product.columns, stride);
  });
}

}  // namespace executorch::kernels::engine
