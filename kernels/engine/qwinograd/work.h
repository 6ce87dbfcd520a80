// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Data that the steps of an int8 Winograd convolution share (qwinograd.h). Members named *_bytes
// count bytes, all other sizes and strides count elements.
#pragma once

#include <executorch/kernels/engine/qgemm/qconv.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

/// Transformed points of a tile and of a kernel: frequency 4 y + x.
inline constexpr size_t kQFrequencies = 16;

struct QWinogradWork {
  Conv2dParams params;
  ImageSize input, output;
  size_t channels, outputs;
  size_t tiles_across, tiles_of_image, tiles;  ///< of 2 x 2 results
  size_t block;                                ///< tiles of an item, a multiple of a product's rows
  size_t blocks, parts;                        ///< of tiles, of panels: items
  size_t panels, panels_at_once;
  size_t frequencies_at_once;  ///< that a product's prepared rows have room for
  size_t rows_bytes;           ///< of the prepared rows of as many tiles as a product has rows
  size_t kernel_bytes;         ///< of a panel's transformed kernels of one frequency
  size_t panel_bytes;          ///< of the packed weights
  const int8_t* points;        ///< of the images
  size_t pixel_stride;         ///< from pixel to pixel

  /// The offset of a frequency in the prepared rows of tiles, in bytes.
  size_t frequency_at(size_t frequency) const;
};

/// A tile's place: its image and the first of its points of the result.
struct QTilePlace {
  size_t image, y, x;
  size_t down, across;  ///< its results, 1 or 2

  QTilePlace(const QWinogradWork& work, size_t tile) {
    const size_t in_image = tile % work.tiles_of_image;
    image = tile / work.tiles_of_image;
    y = in_image / work.tiles_across * 2;
    x = in_image % work.tiles_across * 2;
    down = y + 1 < work.output.height ? 2 : 1;
    across = x + 1 < work.output.width ? 2 : 1;
  }
  /// The pixel of the results in a row of this tile.
  size_t pixel(const QWinogradWork& work, size_t row) const {
    return (image * work.output.height + y + row) * work.output.width + x;
  }
};

/// Some tiles, in a worker's scratch memory.
struct QWinogradTiles {
  size_t first, count;
  const int8_t* padding;  ///< a pixel for each image
  size_t padding_stride;
  int8_t* points;  ///< transformed, as rows of products: [group of tiles, frequency, tile, channel]
  int32_t* products;  ///< [frequency, tile of the block, column of a panel]
};

#if defined(__x86_64__)
/// Transforms the points of tiles.
void transform_qpoints_avx2(const QWinogradWork& work, const QWinogradTiles& tiles);
/// Transforms the kernels of a panel, packed for direct sums.
void transform_qkernels_avx2(const QWinogradWork& work, const int8_t* packed, int8_t* to);
/// Multiplies transformed points and kernels.
void multiply_qtiles_avx2(const QWinogradWork& work, const QWinogradTiles& tiles,
                          const int8_t* kernels);
/// Transforms products and stores results. packed: the panel whose first column is `column`.
void store_qtiles_avx2(const QWinogradWork& work, const QWinogradTiles& tiles, const int8_t* packed,
                       size_t column, const QConv2dCall& call);
void store_qtiles_avx2(const QWinogradWork& work, const QWinogradTiles& tiles, const int8_t* packed,
                       size_t column, const DynamicQConv2dCall& call);
#endif

}  // namespace executorch::kernels::engine
