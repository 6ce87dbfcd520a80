// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/qwinograd/qwinograd.h>

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/qgemm/products_avx2.h>
#include <executorch/kernels/engine/qwinograd/work.h>

namespace executorch::kernels::engine {
namespace {

using qgemm_avx2::kMaxBytes;
using qgemm_avx2::kPanel;
using qgemm_avx2::kRows;
using qgemm_avx2::PreparedRows;

/// Below these sizes convolutions do not use Winograd's algorithm, which pays for its transforms by
/// smaller products. To measure: `python -m test.benchmark resnet50 --engines --precision int8`.
constexpr size_t kMinChannels = 48, kMinOutputs = 32, kMinTiles = 32, kChannelStep = 16;
/// With at most this many channels, the transformed points of a frequency fit prepared rows, and
/// sums times four fit 32 bits.
constexpr size_t kMaxChannels = kMaxBytes / sizeof(int16_t);
static_assert(kMaxChannels * 9 * 128 * 128 * 4 < size_t{1} << 31);
/// Limits of an item's transformed points, which share the second-level cache with products and
/// weights.
constexpr size_t kBlockBytes = size_t{256} << 10, kMaxBlockTiles = 96;
constexpr size_t kItemsOfThread = 4;
/// Limit of the transformed kernels, all of which are in scratch memory: 32 bytes for each 3 x 3
/// kernel.
constexpr size_t kMaxKernelBytes = size_t{16} << 20;

QWinogradWork work_of(const Conv2dParams& p, size_t batch, ImageSize input, size_t threads) {
  QWinogradWork work = {};
  work.params = p;
  work.input = input;
  work.output = output_size(p, input);
  work.channels = p.group_inputs;
  work.outputs = p.group_outputs;
  work.tiles_across = divide_up(work.output.width, 2);
  work.tiles_of_image = work.tiles_across * divide_up(work.output.height, 2);
  work.tiles = work.tiles_of_image * batch;
  work.panels = divide_up(work.outputs, kPanel);
  work.frequencies_at_once = std::min(kMaxBytes / sizeof(int16_t) / work.channels, kQFrequencies);
  work.rows_bytes = divide_up(kQFrequencies, work.frequencies_at_once) * sizeof(PreparedRows);
  work.kernel_bytes = work.channels * kPanel * sizeof(int16_t);
  work.panel_bytes = qgemm_tiles_avx2().panel_bytes(9, work.channels);

  const size_t tile_bytes = kQFrequencies * work.channels * sizeof(int16_t);
  const size_t most = std::min(kBlockBytes / tile_bytes, kMaxBlockTiles);
  const size_t blocks = divide_up(work.tiles, std::max(most / kRows * kRows, kRows));
  work.block = round_up(divide_up(work.tiles, std::max(blocks, size_t{1})), kRows);
  work.blocks = work.block == 0 ? 0 : divide_up(work.tiles, work.block);
  const size_t wanted = threads == 1 ? 1 : divide_up(threads * kItemsOfThread, work.blocks);
  work.panels_at_once = divide_up(work.panels, std::min(wanted, work.panels));
  work.parts = divide_up(work.panels, work.panels_at_once);
  return work;
}

/// Sizes of the parts of scratch memory, in bytes: padding, transformed kernels, and for each
/// worker points and products.
struct Scratch {
  size_t padding_stride, padding, kernels, points, products;

  Scratch(const QWinogradWork& work, size_t batch)
      : padding_stride(round_up(work.channels, kAlignment)),
        padding(batch * padding_stride),
        kernels(work.panels * kQFrequencies * work.kernel_bytes),
        points(work.block / kRows * work.rows_bytes),
        products(kQFrequencies * work.block * kPanel * sizeof(int32_t)) {}
  size_t bytes(size_t threads) const { return padding + kernels + threads * (points + products); }
};

/// Adds the residual to some columns of tiles.
void add_residual(const QWinogradWork& work, const QWinogradTiles& tiles, size_t column,
                  size_t columns, const QConv2dCall& call) {
  if (call.residual == nullptr) return;
  const AddResidual add = residual_kernel(InstructionSet::Avx2);
  for (size_t tile = tiles.first; tile < tiles.first + tiles.count; ++tile) {
    const QTilePlace at(work, tile);
    for (size_t row = 0; row < at.down; ++row) {
      const size_t to = at.pixel(work, row) * call.output_pixel_stride + column;
      add({&call.sum, call.residual + to, call.output_pixel_stride}, at.across, columns,
          call.output + to, call.output_pixel_stride);
    }
  }
}
void add_residual(const QWinogradWork&, const QWinogradTiles&, size_t, size_t,
                  const DynamicQConv2dCall&) {}

int32_t zero_point_of(const QConv2dCall& call, size_t) { return call.input_zero_point; }
int32_t zero_point_of(const DynamicQConv2dCall& call, size_t image) {
  return call.parameters[image].zero_point;
}

template <class Call>
void convolve(const Conv2dParams& p, const Call& call, Threads& threads) {
  QWinogradWork work = work_of(p, call.batch, call.input_size, threads.count());
  work.points = call.input;
  work.pixel_stride = call.input_pixel_stride;
  const auto* const packed = static_cast<const int8_t*>(call.packed);
  const Scratch sizes(work, call.batch);
  int8_t* const padding = static_cast<int8_t*>(call.scratch);
  for (size_t image = 0; image < call.batch; ++image) {
    std::memset(padding + image * sizes.padding_stride, zero_point_of(call, image),
                sizes.padding_stride);
  }
  int8_t* const kernels = padding + sizes.padding;
  const size_t kernels_apart = kQFrequencies * work.kernel_bytes;
  for_each_item(threads, work.panels, [&](size_t panel, size_t) {
    transform_qkernels_avx2(work, packed + panel * work.panel_bytes,
                            kernels + panel * kernels_apart);
  });
  // Transforming points again for other panels costs less than waiting for each other.
  for_each_item(threads, work.blocks * work.parts, [&](size_t item, size_t worker) {
    QWinogradTiles tiles = {};
    tiles.first = item / work.parts * work.block;
    tiles.count = std::min(work.block, work.tiles - tiles.first);
    tiles.padding = padding;
    tiles.padding_stride = sizes.padding_stride;
    tiles.points = kernels + sizes.kernels + worker * (sizes.points + sizes.products);
    tiles.products = reinterpret_cast<int32_t*>(tiles.points + sizes.points);
    transform_qpoints_avx2(work, tiles);
    const size_t begin = item % work.parts * work.panels_at_once;
    const size_t end = std::min(work.panels, begin + work.panels_at_once);
    for (size_t panel = begin; panel < end; ++panel) {
      multiply_qtiles_avx2(work, tiles, kernels + panel * kernels_apart);
      store_qtiles_avx2(work, tiles, packed + panel * work.panel_bytes, panel * kPanel, call);
    }
    add_residual(work, tiles, begin * kPanel, std::min(work.outputs, end * kPanel) - begin * kPanel,
                 call);
  });
}

}  // namespace

bool qwinograd_gains(const QGemmTiles& tiles, const Conv2dParams& p, size_t batch,
                     ImageSize input) {
  const bool is_supported = tiles.set == InstructionSet::Avx2 && p.groups == 1 &&
                            p.kernel_height == 3 && p.kernel_width == 3 && p.stride_height == 1 &&
                            p.stride_width == 1 && p.dilation_height == 1 &&
                            p.dilation_width == 1 && p.group_inputs % kChannelStep == 0 &&
                            p.group_inputs >= kMinChannels && p.group_inputs <= kMaxChannels;
  const ImageSize output = output_size(p, input);
  const size_t kernel_bytes =
      round_up(p.group_outputs, kPanel) * p.group_inputs * kQFrequencies * sizeof(int16_t);
  return is_supported && p.group_outputs >= kMinOutputs && kernel_bytes <= kMaxKernelBytes &&
         batch * divide_up(output.height, 2) * divide_up(output.width, 2) >= kMinTiles;
}

size_t qwinograd_scratch_bytes(const Conv2dParams& p, size_t batch, ImageSize input,
                               size_t threads) {
  return Scratch(work_of(p, batch, input, threads), batch).bytes(threads);
}

void qwinograd(const Conv2dParams& p, const QConv2dCall& call, Threads& threads) {
  convolve(p, call, threads);
}

void dynamic_qwinograd(const Conv2dParams& p, const DynamicQConv2dCall& call, Threads& threads) {
  convolve(p, call, threads);
}

}  // namespace executorch::kernels::engine
#endif
