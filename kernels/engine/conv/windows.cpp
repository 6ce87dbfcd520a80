// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/windows.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/conv/direct_windows.h>
#include <executorch/kernels/engine/conv/indirection.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>

namespace executorch::kernels::engine {
namespace {

/// Pointers of a worker's indirection buffer: 64 KiB, an eighth of a second-level cache of 512 KiB.
constexpr size_t kPointers = size_t{8} << 10;

size_t taps_of(const Conv2dParams& p) { return p.kernel_height * p.kernel_width; }
size_t depth_of(const Conv2dParams& p) { return taps_of(p) * p.group_inputs; }

size_t zero_floats(const Conv2dParams& p) {
  return round_up(p.group_inputs, kAlignment / sizeof(float));
}

/// Points whose pointers fit the buffer, whole groups of any size.
size_t max_points(const Conv2dParams& p) {
  return std::max(kPointers / std::max(taps_of(p), size_t{1}) / kMaxTileRows, size_t{1}) *
         kMaxTileRows;
}

size_t worker_pointers(const Conv2dParams& p, size_t points) {
  const size_t rows = round_up(std::min(points, max_points(p)), kMaxTileRows) + kMaxTileRows;
  return round_up(rows * taps_of(p), kAlignment / sizeof(float*));
}

/// The points that a worker's buffer is filled for; it serves all images, groups and columns.
struct Filled {
  size_t point = ~size_t{0}, count = 0;
};

constexpr size_t kMaxGatheredTaps = 64;

/// pack_weights() of kernels that are contiguous for each output, as [input, tap]. Whole cache
/// lines of some channels are transposed at once, and their rows then moved to their taps.
void pack_kernels(const GemmTiles& tiles, const Conv2dParams& p, const ConvWeights& weights,
                  size_t output, size_t columns, float* to) {
  constexpr size_t kFloats =
      2560;  // in the first-level cache: one channel of kMaxGatheredTaps fits
  const size_t panel = tiles.panel, taps = taps_of(p), channels = kFloats / (taps * panel);
  alignas(kAlignment) float rows[kFloats];
  std::fill(rows, rows + kFloats, 0.0f);
  for (size_t first = 0, count = 0; first < p.group_inputs; first += count) {
    count = std::min(channels, p.group_inputs - first);
    const float* const from = weights.data + output * weights.output_stride + first * taps;
    // Hardware prefetchers follow fewer rows.
    for (size_t row = 0; row < columns; ++row) {
      const float* const next =
          moved(from, (row * weights.output_stride + count * taps) * sizeof(float));
      for (size_t i = 0; i < count * taps; i += kAlignment / sizeof(float)) {
        __builtin_prefetch(next + i, 0, 3);
      }
    }
    tiles.pack_rows(from, columns, weights.output_stride, count * taps, rows, panel,
                    PackedUse::Soon);
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(to + (tap * p.group_inputs + first + i) * panel,
                    rows + (i * taps + tap) * panel, panel * sizeof(float));
      }
    }
  }
}

/// Packs a panel of weights and its biases, `columns` outputs from `output` on.
void pack_outputs(const GemmTiles& tiles, const Conv2dParams& p, const ConvWeights& weights,
                  size_t output, size_t columns, float* to) {
  const Conv2dParams words = in_words(tiles, p);
  pack_bias(tiles, weights.bias == nullptr ? nullptr : weights.bias + output, columns, to);
  to += tiles.panel;
  const size_t taps = taps_of(p), line = p.kernel_width * p.group_inputs;
  const bool is_contiguous = weights.input_stride == 1 && weights.x_stride == p.group_inputs &&
                             weights.y_stride == line &&
                             depth_of(words) == tiles.words(depth_of(p));
  const float* const from = weights.data + output * weights.output_stride;
  if (is_contiguous) {
    pack_weights(tiles, {from, 1, weights.output_stride}, columns, depth_of(p), to,
                 PackedUse::Later);
    return;
  }
  if (tiles.precision == Precision::Float32 && weights.x_stride == 1 && taps > 1 &&
      taps <= kMaxGatheredTaps && weights.y_stride == p.kernel_width &&
      weights.input_stride == taps) {
    pack_kernels(tiles, p, weights, output, columns, to);
    return;
  }
  for (size_t tap = 0; tap < taps; ++tap, to += words.group_inputs * tiles.panel) {
    const size_t y = tap / p.kernel_width, x = tap % p.kernel_width;
    pack_weights(tiles,
                 {from + y * weights.y_stride + x * weights.x_stride, weights.input_stride,
                  weights.output_stride},
                 columns, p.group_inputs, to, PackedUse::Later);
  }
}

/// The packed panel of a group that contains `column`.
const float* packed_at(const GemmTiles& tiles, const Conv2dParams& p, const float* packed,
                       size_t group, size_t column) {
  const size_t panels = divide_up(p.group_outputs, tiles.panel);
  return packed + (group * panels + column / tiles.panel) * panel_floats(tiles, depth_of(p));
}

}  // namespace

Conv2dParams in_words(const GemmTiles& tiles, Conv2dParams params) {
  params.group_inputs = tiles.words(params.group_inputs);
  return params;
}

size_t windows_packed_bytes(const GemmTiles& tiles, const Conv2dParams& p) {
  const size_t panels = p.groups * divide_up(p.group_outputs, tiles.panel);
  return round_up(panels * panel_floats(tiles, depth_of(p)) * sizeof(float), kAlignment);
}

void pack_windows(const GemmTiles& tiles, const Conv2dParams& p, const ConvWeights& weights,
                  float* packed, Threads& threads) {
  const size_t panel = tiles.panel, panels = divide_up(p.group_outputs, panel);
  const Conv2dParams words = in_words(tiles, p);
  const size_t floats = panel_floats(tiles, depth_of(words));
  const size_t bytes = windows_packed_bytes(tiles, words);
  std::fill(packed + p.groups * panels * floats, packed + bytes / sizeof(float), 0.0f);
  CallingThread alone;
  for_each_item(bytes < kBytesWorthThreads ? alone : threads, p.groups * panels,
                [&](size_t item, size_t) {
                  const size_t column = item % panels * panel;
                  pack_outputs(tiles, p, weights, item / panels * p.group_outputs + column,
                               std::min(panel, p.group_outputs - column), packed + item * floats);
                });
}

size_t windows_scratch_bytes(const GemmTiles&, const Conv2dParams& p, ImageSize input,
                             size_t threads) {
  const ImageSize output = output_size(p, input);
  const size_t pointers = worker_pointers(p, output.height * output.width);
  return zero_floats(p) * sizeof(float) +
         threads * (pointers * sizeof(float*) + round_up(sizeof(Filled), kAlignment));
}

void convolve_windows(const GemmTiles& tiles, const Conv2dParams& p, const Conv2dCall& call,
                      bool writes_pairs, Threads& threads) {
  const ImageSize output = output_size(p, call.input_size);
  const size_t points = output.height * output.width;
  if (uses_direct_windows(tiles, p, call, output)) {
    convolve_direct_windows(tiles, p, call, writes_pairs, threads);
    return;
  }
  DividedProduct divided;
  divided.images = call.batch * p.groups;
  divided.rows = points;
  divided.columns = p.group_outputs;
  divided.depth = depth_of(p);
  divided.max_rows = max_points(p);
  divided.activation = call.epilogue.activation;
  const Division division = divide(tiles, divided, threads.count());
  if (division.items() == 0) return;
  const size_t most = max_table_rows(tiles, std::min(division.columns, p.group_outputs));
  const size_t group = divide_up(division.rows, divide_up(division.rows, most));
  float* const zero = static_cast<float*>(call.scratch);
  std::memset(zero, 0, zero_floats(p) * sizeof(float));
  const size_t pointers = worker_pointers(p, points);
  Filled* const filled = reinterpret_cast<Filled*>(zero + zero_floats(p));
  const size_t filled_bytes = round_up(sizeof(Filled), kAlignment);
  for (size_t i = 0; i < threads.count(); ++i) *moved(filled, i * filled_bytes) = Filled{};
  auto* const tables =
      reinterpret_cast<const float**>(moved(filled, threads.count() * filled_bytes));
  const auto activate = activation_function(call.epilogue.activation, tiles.set);
  const size_t image_floats =
      call.input_size.height * call.input_size.width * call.input_pixel_stride;
  for_each_item(threads, division.items() * divided.images, [&](size_t item, size_t worker) {
    const size_t row = item % division.row_items * division.rows;
    item /= division.row_items;
    const size_t column = item % division.column_items * division.columns;
    const size_t product_index = item / division.column_items;
    const size_t in_group = product_index % p.groups, image = product_index / p.groups;
    Product product;
    product.tiles = &tiles;
    product.rows = std::min(division.rows, points - row);
    product.columns = std::min(division.columns, p.group_outputs - column);
    const float** const table = tables + worker * pointers;
    Filled& has = *moved(filled, worker * filled_bytes);
    if (has.point != row || has.count != product.rows) {
      const IndirectImage<float> source = {call.input, call.input_pixel_stride, call.input_size,
                                           output, zero};
      fill_indirection(p, source, row, product.rows, group, table);
      has = {row, product.rows};
    }
    product.parts = taps_of(p);
    product.depth = p.group_inputs;
    product.table = table;
    product.table_rows = group;
    product.offset = (image * image_floats + in_group * p.group_inputs) * sizeof(float);
    product.zero = zero;
    product.packed = packed_at(tiles, p, call.packed, in_group, column);
    product.writes_pairs = writes_pairs;
    const size_t at = (image * points + row) * call.output_pixel_stride +
                      product.out_floats(in_group * p.group_outputs + column);
    product.write_to(call.output, at, call.output_pixel_stride, call.epilogue);
    product.prefetches = true;
    if (row + product.rows == points) {
      const size_t behind = p.group_outputs - column - product.columns;
      product.next_bytes = std::min(behind, division.columns) * (1 + depth_of(p)) * sizeof(float);
    }
    run_product(product);
    activate_rows(activate, product.out, product.rows, product.columns, call.output_pixel_stride);
  });
}

}  // namespace executorch::kernels::engine
