// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Floats rounded to pairs of bfloat16, each pair in the place of one float; for AVX512-BF16. NaN
// stays NaN, subnormal numbers become zero.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// Writes (count + 1) / 2 pairs; an odd last element is paired with zero.
void narrow_to_pairs(const float* from, size_t count, float* to);
/// Writes two pairs for each three of `count` contiguous threes, as of pixels in RGB; the second
/// pair's last factor is zero.
void narrow_threes(const float* from, size_t count, float* to);
/// to[i] = the pair of first[i] and second[i]; a null `second` is zeros.
void pair_up(const float* first, const float* second, size_t count, float* to);
/// pack_weights() of pack/pack_panels.h for tiles of bfloat16.
void pack_pairs(const GemmTiles& tiles, const RightMatrix& right, size_t columns, size_t depth,
                float* to);

/// Rows of `parts` parts of `count` floats. Parts begin on pairs of their own.
struct NarrowedRows {
  const float* from = nullptr;
  size_t rows = 0, stride = 0;  ///< floats from row to row
  size_t parts = 1, count = 0;
  float* to = nullptr;  ///< rows without gaps
};
void narrow_rows(const NarrowedRows& rows, Threads& threads);

}  // namespace executorch::kernels::engine
