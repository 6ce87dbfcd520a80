// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

#include <executorch/kernels/engine/gemm/tiles/tiles.h>
#include <executorch/kernels/engine/pack/transpose_block.h>

namespace executorch::kernels::engine {

/// GemmTiles::pack_rows on every processor: a cache line of each row at a time.
inline void pack_rows(const float* from, size_t rows, size_t stride, size_t depth, float* to,
                      size_t panel, PackedUse) {
  constexpr size_t kLine = 16;
  for (size_t d = 0; d < depth; d += kLine) {
    transpose_block(from + d, stride, to + d * panel, panel, rows, std::min(kLine, depth - d));
  }
}

}  // namespace executorch::kernels::engine
