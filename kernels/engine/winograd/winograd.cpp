// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/winograd/winograd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/winograd/work.h>

namespace executorch::kernels::engine {
namespace {

// Below these sizes convolutions do not use Winograd's algorithm. The transforms' share of the work
// falls with the number of channels and outputs, and each block of tiles reads 16 weights instead
// of 9. `engine_layers` measures the layers of image models.
constexpr size_t kMinChannels = 48, kMinOutputs = 32, kMinTiles = 32;
/// Transformed tiles share the second-level cache with weights. Fewer tiles would read the weights
/// too often, so a block has as many as fit the upper limit.
constexpr size_t kTileBytes = size_t{512} << 10, kMaxTileBytes = size_t{832} << 10;
constexpr size_t kTilesWorthWeights = 49;
/// Padding between frequencies: distances of powers of two would map to the same cache sets.
constexpr size_t kGap = 16;
constexpr size_t kLineFloats = 16;

/// Tiles along a dimension of `padded` points, padding included.
size_t tiles_along(size_t padded) { return padded < 3 ? 0 : (padded - 1) / 2; }

WinogradWork work_of(const Conv2dParams& p, size_t batch, ImageSize input, size_t panel) {
  const ImageSize output = output_size(p, input);
  WinogradWork work = {};
  work.height = input.height;
  work.width = input.width;
  work.out_height = output.height;
  work.out_width = output.width;
  work.pad_top = p.pad_top;
  work.pad_left = p.pad_left;
  work.channels = p.group_inputs;
  work.outputs = p.group_outputs;
  work.tiles_across = divide_up(output.width, 2);
  work.tiles_of_image = work.tiles_across * divide_up(output.height, 2);
  work.tiles = work.tiles_of_image * batch;
  work.panel = panel;
  return work;
}

struct Items {
  size_t blocks, parts;  ///< of tiles, of outputs
};

/// Enough items for all threads.
Items divide_work(WinogradWork& work, size_t threads) {
  const size_t tile_bytes = kFrequencies * work.channels * sizeof(float);
  const size_t most =
      std::max(kTileBytes / tile_bytes, std::min(kMaxTileBytes / tile_bytes, kTilesWorthWeights));
  const size_t panels = divide_up(work.outputs, work.panel);
  Items items = {divide_up(work.tiles, std::max(most, size_t{1})), 1};
  if (items.blocks >= threads) {
    items.blocks = std::min(round_up(items.blocks, threads), work.tiles);
  } else {
    items.parts = std::min(divide_up(threads, items.blocks), panels);
  }
  work.block = divide_up(work.tiles, items.blocks);
  items.blocks = divide_up(work.tiles, work.block);
  work.panels_at_once = divide_up(panels, items.parts);
  items.parts = divide_up(panels, work.panels_at_once);
  return items;
}

size_t whole_lines(size_t floats) { return round_up(floats, kLineFloats); }

size_t worker_floats(const WinogradWork& work) {
  const size_t in_apart = work.block * work.channels + kGap;
  const size_t out_apart = work.block * work.panel + kGap;
  return whole_lines(work.channels) + whole_lines(kFrequencies * in_apart) +
         whole_lines(kFrequencies * out_apart) + whole_lines(divide_up(work.block, sizeof(float)));
}

/// The tiles of a block, in a worker's scratch memory.
WinogradTiles tiles_of(const WinogradWork& work, size_t block, float* scratch) {
  WinogradTiles tiles = {};
  tiles.first = block * work.block;
  tiles.count = std::min(work.block, work.tiles - tiles.first);
  tiles.in_apart = work.block * work.channels + kGap;
  tiles.out_apart = work.block * work.panel + kGap;
  tiles.zeros = scratch;
  tiles.in = tiles.zeros + whole_lines(work.channels);
  tiles.out = tiles.in + whole_lines(kFrequencies * tiles.in_apart);
  tiles.are_exceptional =
      reinterpret_cast<unsigned char*>(tiles.out + whole_lines(kFrequencies * tiles.out_apart));
  return tiles;
}

void multiply(const GemmTiles& kernels, const WinogradWork& work, const WinogradTiles& tiles,
              const float* weights, size_t columns) {
  for (size_t i = 0; i < kFrequencies; ++i) {
    Product product;
    product.tiles = &kernels;
    product.rows = tiles.count;
    product.columns = columns;
    product.depth = work.channels;
    product.left = tiles.in + i * tiles.in_apart;
    product.left_stride = work.channels * sizeof(float);
    product.packed = weights + i * panel_floats(kernels, work.channels);
    product.out = tiles.out + i * tiles.out_apart;
    product.out_stride = work.panel * sizeof(float);
    run_product(product);
  }
}

/// Applies an activation to some columns of the points that tiles wrote.
void activate_points(const WinogradWork& work, const WinogradTiles& tiles, size_t column,
                     size_t columns, MapFunction activate) {
  if (activate == nullptr) return;
  for (size_t tile = tiles.first; tile < tiles.first + tiles.count; ++tile) {
    const size_t in_image = tile % work.tiles_of_image, image = tile / work.tiles_of_image;
    const size_t y = in_image / work.tiles_across * 2, x = in_image % work.tiles_across * 2;
    for (size_t i = 0; i < 4; ++i) {
      if (y + i / 2 >= work.out_height || x + i % 2 >= work.out_width) continue;
      const size_t point = (image * work.out_height + y + i / 2) * work.out_width + x + i % 2;
      float* const at = work.output + point * work.out_stride + column;
      activate(at, at, columns, 0, 0);
    }
  }
}

}  // namespace

bool winograd_is_faster(const Conv2dParams& p, size_t batch, ImageSize input, InstructionSet set) {
  const bool has_transforms = set != InstructionSet::Scalar;
  const size_t tiles = batch * tiles_along(input.height + p.pad_top + p.pad_bottom) *
                       tiles_along(input.width + p.pad_left + p.pad_right);
  return has_transforms && !p.transposed && p.groups == 1 && p.kernel_height == 3 &&
         p.kernel_width == 3 && p.stride_height == 1 && p.stride_width == 1 &&
         p.dilation_height == 1 && p.dilation_width == 1 && p.group_inputs >= kMinChannels &&
         p.group_outputs >= kMinOutputs && tiles >= kMinTiles;
}

size_t winograd_scratch_bytes(const Conv2dParams& p, size_t batch, ImageSize input, size_t threads,
                              InstructionSet set) {
  WinogradWork work = work_of(p, batch, input, gemm_tiles(set).panel);
  if (work.tiles == 0) return 0;
  divide_work(work, threads);
  return threads * worker_floats(work) * sizeof(float);
}

void winograd(const Conv2dParams& p, const Conv2dCall& call, Threads& threads, InstructionSet set) {
  const GemmTiles& kernels = gemm_tiles(set);
  const WinogradTransforms& transforms = winograd_transforms(set);
  WinogradWork work = work_of(p, call.batch, call.input_size, kernels.panel);
  if (work.tiles == 0) return;
  const Items items = divide_work(work, threads.count());
  work.input = call.input;
  work.output = call.output;
  work.residual = call.epilogue.residual;
  work.weights = call.packed;
  work.in_stride = call.input_pixel_stride;
  work.out_stride = call.output_pixel_stride;
  work.clamp_min = call.epilogue.clamp_min;
  work.clamp_max = call.epilogue.clamp_max;
  const auto activate = activation_function(call.epilogue.activation, set);
  const size_t panel_size = kFrequencies * panel_floats(kernels, work.channels);
  const float* const centres = work.weights + divide_up(work.outputs, work.panel) * panel_size;
  const size_t of_worker = worker_floats(work);
  // An item is a block of tiles and some panels of outputs. Transforming the input again for other
  // panels costs less than waiting for each other.
  for_each_item(threads, items.blocks * items.parts, [&](size_t item, size_t worker) {
    float* const scratch = static_cast<float*>(call.scratch) + worker * of_worker;
    const WinogradTiles tiles = tiles_of(work, item / items.parts, scratch);
    transforms.input(work, tiles);
    const bool has_exceptional = std::memchr(tiles.are_exceptional, 1, tiles.count) != nullptr;
    const size_t begin = item % items.parts * work.panels_at_once * work.panel;
    const size_t end = std::min(work.outputs, begin + work.panels_at_once * work.panel);
    for (size_t column = begin; column < end; column += work.panel) {
      const size_t columns = std::min(work.panel, end - column), number = column / work.panel;
      const float* const weights = work.weights + number * panel_size;
      multiply(kernels, work, tiles, weights, columns);
      transforms.output(work, tiles, column, columns);
      if (has_exceptional) {
        transforms.exceptional(work, tiles, column, columns, weights,
                               centres + number * work.channels * work.panel);
      }
      activate_points(work, tiles, column, columns, activate);
    }
  });
}

}  // namespace executorch::kernels::engine
