// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/patches.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/planes/padded_plane.h>

namespace executorch::kernels::engine {
namespace {

/// Packed patches of an item, and its sums: they stay in the second-level cache.
constexpr size_t kPackedBytes = size_t{256} << 10, kSumBytes = size_t{256} << 10;
constexpr size_t kLineFloats = kAlignment / sizeof(float);

/// How a call is divided, and its scratch memory: the offsets of taps, biases, the padded planes of
/// an image, then for each worker packed patches and sums.
struct Plan {
  const GemmTiles& tiles;
  const PaddedPlane plane;
  size_t taps, depth;
  size_t columns, rows;  ///< of an item
  size_t column_items, row_items;
  size_t offset_floats, bias_floats, plane_floats, packed_floats, sum_floats;

  Plan(const GemmTiles& given, const Conv2dParams& p, ImageSize input, size_t threads)
      : tiles(given), plane(p, input, 0) {
    taps = p.kernel_height * p.kernel_width;
    depth = p.group_inputs * taps;
    const size_t length = plane.floats() == 0 ? 0 : plane.length();
    const size_t step = tiles.pair_rows == 0 ? tiles.panel : 2 * tiles.panel;
    const size_t outputs = std::max(p.group_outputs, size_t{1});
    size_t fitting = kPackedBytes / ((1 + depth) * sizeof(float));
    if (!is_direct()) fitting = std::min(fitting, kSumBytes / sizeof(float) / outputs);
    columns = std::max(fitting / step * step, step);
    columns = round_up(divide_up(length, divide_up(std::max(length, size_t{1}), columns)), step);
    columns = std::max(columns, step);
    column_items = divide_up(length, columns);
    rows = is_direct() ? outputs : std::max(kSumBytes / sizeof(float) / columns, tiles.rows);
    const size_t items = p.groups * column_items;
    if (threads > 1 && items < 2 * threads && items != 0) {
      rows = std::min(rows, divide_up(p.group_outputs, divide_up(2 * threads, items)));
    }
    rows = std::max(std::min(rows, outputs), size_t{1});
    row_items = divide_up(p.group_outputs, rows);
    offset_floats = round_up(taps * sizeof(size_t), kAlignment) / sizeof(float);
    bias_floats = round_up(p.groups * p.group_outputs * tiles.panel, kLineFloats);
    plane_floats = plane.is_image() ? 0 : p.groups * p.group_inputs * plane.floats();
    packed_floats = columns / tiles.panel * panel_floats(tiles, depth);
    sum_floats = is_direct() ? 0 : rows * columns;
  }

  /// True if each place is an output: products are then written to the result.
  bool is_direct() const { return plane.floats() != 0 && plane.pitch() == plane.output().width; }
  size_t worker_floats() const { return round_up(packed_floats + sum_floats, kLineFloats); }
};

/// Packs a whole panel. Its width is a constant, so that a copy is a few instructions.
template <size_t kPanel>
void pack_rows_of(const float* image, size_t channels, size_t apart, const size_t* offsets,
                  size_t taps, float* to) {
  for (size_t i = 0; i < channels; ++i, image += apart) {
    for (size_t tap = 0; tap < taps; ++tap, to += kPanel) {
      std::memcpy(to, image + offsets[tap], kPanel * sizeof(float));
    }
  }
}

/// Packs a panel, its biases zeros, of `columns` places from where `image` points.
void pack_patches(const Plan& plan, const float* image, size_t channels, size_t apart,
                  const size_t* offsets, size_t columns, float* to) {
  const size_t panel = plan.tiles.panel, taps = plan.taps;
  std::fill(to, to + panel, 0.0f);
  to += panel;
  if (columns >= panel) {
    switch (panel) {
      case 32:
        return pack_rows_of<32>(image, channels, apart, offsets, taps, to);
      case 16:
        return pack_rows_of<16>(image, channels, apart, offsets, taps, to);
      case 8:
        return pack_rows_of<8>(image, channels, apart, offsets, taps, to);
      default:
        break;
    }
  }
  const size_t valid = std::min(columns, panel);
  for (size_t i = 0; i < channels; ++i, image += apart) {
    for (size_t tap = 0; tap < taps; ++tap, to += panel) {
      std::memcpy(to, image + offsets[tap], valid * sizeof(float));
      std::fill(to + valid, to + panel, 0.0f);
    }
  }
}

}  // namespace

size_t patches_scratch_bytes(const Conv2dParams& p, ImageSize input, size_t threads,
                             InstructionSet set) {
  const Plan plan(gemm_tiles(set), p, input, threads);
  if (plan.plane.floats() == 0) return 0;
  const size_t shared = plan.offset_floats + plan.bias_floats + plan.plane_floats;
  return (shared + threads * plan.worker_floats()) * sizeof(float);
}

void convolve_patches(const Conv2dParams& p, const NchwCall& call, Threads& threads,
                      InstructionSet set) {
  const Plan plan(gemm_tiles(set), p, call.input_size, threads.count());
  const PaddedPlane& plane = plan.plane;
  if (plane.floats() == 0 || p.group_outputs == 0) return;
  const size_t in_plane = call.input_size.height * call.input_size.width;
  const size_t out_plane = plane.output().height * plane.output().width;
  const size_t channels = p.groups * p.group_inputs;
  auto* const offsets = static_cast<size_t*>(call.scratch);
  for (size_t tap = 0; tap < plan.taps; ++tap) offsets[tap] = plane.tap(tap);
  float* const biases = static_cast<float*>(call.scratch) + plan.offset_floats;
  float* const planes = biases + plan.bias_floats;
  for (size_t o = 0; o < p.groups * p.group_outputs; ++o) {
    std::fill_n(biases + o * plan.tiles.panel, plan.tiles.panel,
                call.bias == nullptr ? 0.0f : call.bias[o]);
  }
  float* const workers = planes + plan.plane_floats;
  std::memset(planes, 0, plan.plane_floats * sizeof(float));
  const size_t apart = plane.is_image() ? in_plane : plane.floats();
  for (size_t n = 0; n < call.batch; ++n) {
    const float* const image = call.in + n * channels * in_plane;
    if (!plane.is_image()) {
      for_each_rows(threads, channels, plane.floats(), [&](size_t first, size_t count) {
        for (size_t i = first; i < first + count; ++i) {
          plane.fill(image + i * in_plane, planes + i * plane.floats());
        }
      });
    }
    const float* const places = plane.is_image() ? image : planes;
    const size_t items = p.groups * plan.column_items * plan.row_items;
    for_each_item(threads, items, [&](size_t item, size_t worker) {
      const size_t row = item % plan.row_items * plan.rows;
      const size_t column = item / plan.row_items % plan.column_items * plan.columns;
      const size_t group = item / plan.row_items / plan.column_items;
      float* const packed = workers + worker * plan.worker_floats();
      Product product;
      product.tiles = &plan.tiles;
      product.rows = std::min(plan.rows, p.group_outputs - row);
      product.columns = std::min(plan.columns, plane.length() - column);
      product.depth = plan.depth;
      for (size_t c = 0; c < product.columns; c += plan.tiles.panel) {
        pack_patches(plan, places + group * p.group_inputs * apart + column + c, p.group_inputs,
                     apart, offsets, product.columns - c,
                     packed + c / plan.tiles.panel * panel_floats(plan.tiles, plan.depth));
      }
      const size_t output = group * p.group_outputs + row;
      product.left = call.weights + output * plan.depth;
      product.left_stride = plan.depth * sizeof(float);
      product.packed = packed;
      product.row_bias = biases + output * plan.tiles.panel;
      float* const out = call.out + (n * p.groups * p.group_outputs + output) * out_plane;
      const size_t out_stride = plan.is_direct() ? out_plane : product.columns;
      product.out = plan.is_direct() ? out + column : packed + plan.packed_floats;
      product.out_stride = out_stride * sizeof(float);
      run_product(product);
      for (size_t r = 0; !plan.is_direct() && r < product.rows; ++r) {
        plane.collect(product.out + r * out_stride, column, product.columns, out + r * out_plane);
      }
    });
  }
}

}  // namespace executorch::kernels::engine
