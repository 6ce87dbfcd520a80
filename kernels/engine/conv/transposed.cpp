// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/transposed.h>

#include <algorithm>
#include <cstring>
#include <numeric>

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
  const int64_t first =
      first_multiple(int64_t(dilation), int64_t(phase + padding), int64_t(stride));
  if (first < 0 || size_t(first) >= kernel) return {};
  const size_t step = stride / std::gcd(stride, dilation);
  return {size_t(first), step, (kernel - 1 - size_t(first)) / step + 1};
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

/// Floats of phases that read `taps` together.
size_t floats_of(const GemmTiles& tiles, const Conv2dParams& p, size_t phases, size_t taps) {
  return panels_of(tiles, p) * tiles.panel * (phases + taps * p.group_inputs);
}

/// Floats of a group: each tap is in one phase of its dimension.
size_t group_floats(const GemmTiles& tiles, const Conv2dParams& p) {
  return floats_of(tiles, p, phases_of(p), p.kernel_height * p.kernel_width);
}

/// The taps that the phases before each one read, in both dimensions.
struct TapsBefore {
  size_t *down, *across;

  TapsBefore(const Conv2dParams& p, void* memory)
      : down(static_cast<size_t*>(memory)), across(down + p.stride_height) {
    size_t taps = 0;
    for (size_t y = 0; y < p.stride_height; ++y) {
      down[y] = taps;
      taps += taps_of(y, p.kernel_height, p.stride_height, p.dilation_height, p.pad_top).count;
    }
    taps = 0;
    for (size_t x = 0; x < p.stride_width; ++x) {
      across[x] = taps;
      taps += taps_of(x, p.kernel_width, p.stride_width, p.dilation_width, p.pad_left).count;
    }
  }
  static size_t bytes(const Conv2dParams& p) {
    return round_up((p.stride_height + p.stride_width) * sizeof(size_t), kAlignment);
  }

  size_t of(const Conv2dParams& p, const Phase& phase) const {
    return down[phase.y] * p.kernel_width + phase.down.count * across[phase.x];
  }
};

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
  return round_up(p.groups * group_floats(tiles, p) * sizeof(float), kAlignment);
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
  return limited_sum(zero_floats(p) * sizeof(float) + TapsBefore::bytes(p),
                     limited_product(threads, limited_product(pointers, sizeof(float*))));
}

void convolve_transposed(const GemmTiles& tiles, const Conv2dParams& p, const Conv2dCall& call,
                         Threads& threads) {
  const ImageSize output = output_size(p, call.input_size);
  float* const zero = static_cast<float*>(call.scratch);
  std::memset(zero, 0, zero_floats(p) * sizeof(float));
  float* const after = zero + zero_floats(p);
  const TapsBefore taps_before(p, after);
  auto* const tables =
      reinterpret_cast<const float**>(after + TapsBefore::bytes(p) / sizeof(float));
  const size_t pointers = line_pointers(p, output);
  const size_t of_group = group_floats(tiles, p);
  const size_t image_floats =
      call.input_size.height * call.input_size.width * call.input_pixel_stride;
  const auto activate = activation_function(call.epilogue.activation, tiles.set);
  // An item is a line of points of one phase.
  const size_t phases_across = std::min(p.stride_width, output.width);
  const size_t items = call.batch * p.groups * output.height * phases_across;
  for_each_item(threads, items, [&](size_t item, size_t worker) {
    const size_t phase_x = item % phases_across;
    const size_t y = item / phases_across % output.height;
    const size_t group = item / phases_across / output.height % p.groups;
    const size_t image = item / phases_across / output.height / p.groups;
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
    product.packed =
        call.packed + group * of_group + floats_of(tiles, p, index, taps_before.of(p, phase));
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
