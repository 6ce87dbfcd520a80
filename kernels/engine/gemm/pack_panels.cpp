// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/pack_panels.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/gemm/bf16.h>

namespace executorch::kernels::engine {

void pack_weights(const GemmTiles& tiles, const RightMatrix& right, size_t columns, size_t depth,
                  float* to) {
  const size_t panel = tiles.panel;
  if (depth == 0) return;
  if (tiles.precision == Precision::BFloat16) {
    pack_pairs(tiles, right, columns, depth, to);
    return;
  }
  if (right.depth_stride == 1 && right.column_stride != 1) {
    if (columns < panel) std::memset(to, 0, depth * panel * sizeof(float));
    tiles.pack_rows(right.data, columns, right.column_stride, depth, to, panel);
    return;
  }
  for (size_t d = 0; d < depth; ++d, to += panel) {
    const float* const from = right.data + d * right.depth_stride;
    if (right.column_stride == 1) {
      std::memcpy(to, from, columns * sizeof(float));
    } else {
      for (size_t c = 0; c < columns; ++c) to[c] = from[c * right.column_stride];
    }
    std::fill(to + columns, to + panel, 0.0f);
  }
}

void pack_bias(const GemmTiles& tiles, const float* bias, size_t columns, float* to) {
  const size_t valid = bias == nullptr ? 0 : columns;
  std::copy(bias, bias + valid, to);
  std::fill(to + valid, to + tiles.panel, 0.0f);
}

void pack_panel(const GemmTiles& tiles, const RightMatrix& right, const float* bias, size_t columns,
                size_t depth, float* to) {
  pack_bias(tiles, bias, columns, to);
  pack_weights(tiles, right, columns, depth, to + tiles.panel);
}

}  // namespace executorch::kernels::engine
