// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/gemm/driver.h>

namespace executorch::kernels::engine {
namespace {

/// Copies whole panels of contiguous columns. Each row is copied to all panels before the next row:
/// rows may lie in different pages, across which hardware does not prefetch. The panel's width is a
/// constant, so a copy takes a few instructions.
template <size_t kPanel>
void copy_panels(const RightMatrix& right, size_t panels, size_t depth, float* to, size_t apart) {
  constexpr size_t kRowsAhead = 16, kLineFloats = 16;
  const size_t ahead = kRowsAhead * right.depth_stride * sizeof(float);
  for (size_t d = 0; d < depth; ++d) {
    const float* const from = right.data + d * right.depth_stride;
    for (size_t i = 0; i < panels * kPanel; i += kLineFloats) {
      __builtin_prefetch(moved(from + i, ahead), 0, 3);
    }
    for (size_t i = 0; i < panels; ++i) {
      std::memcpy(to + i * apart + d * kPanel, from + i * kPanel, kPanel * sizeof(float));
    }
  }
}

/// The same for the width of the tiles' panels.
void copy_panels(size_t panel, const RightMatrix& right, size_t panels, size_t depth, float* to,
                 size_t apart) {
  switch (panel) {
    case 32:
      return copy_panels<32>(right, panels, depth, to, apart);
    case 16:
      return copy_panels<16>(right, panels, depth, to, apart);
    default:
      return copy_panels<8>(right, panels, depth, to, apart);
  }
}

}  // namespace

void pack_weights(const GemmTiles& tiles, const RightMatrix& right, size_t columns, size_t depth,
                  float* to, PackedUse use) {
  const size_t panel = tiles.panel;
  if (depth == 0) return;
  if (tiles.precision == Precision::BFloat16) {
    pack_pairs(tiles, right, columns, depth, to);
    return;
  }
  if (right.depth_stride == 1 && right.column_stride != 1) {
    if (columns < panel) std::memset(to, 0, depth * panel * sizeof(float));
    tiles.pack_rows(right.data, columns, right.column_stride, depth, to, panel, use);
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
  pack_weights(tiles, right, columns, depth, to + tiles.panel, PackedUse::Later);
}

void pack_panels(const GemmTiles& tiles, const RightMatrix& right, const float* bias,
                 size_t columns, size_t depth, float* to) {
  const size_t panel = tiles.panel, apart = panel_floats(tiles, tiles.words(depth));
  const bool copies = right.column_stride == 1 && tiles.precision == Precision::Float32 &&
                      (panel == 8 || panel == 16 || panel == 32);
  const size_t copied = copies ? columns / panel : 0;
  copy_panels(panel, right, copied, depth, to + panel, apart);
  for (size_t c = 0; c < columns; c += panel, to += apart) {
    const size_t valid = std::min(panel, columns - c);
    pack_bias(tiles, bias == nullptr ? nullptr : bias + c, valid, to);
    if (c < copied * panel) continue;
    const RightMatrix part = {right.data + c * right.column_stride, right.depth_stride,
                              right.column_stride};
    pack_weights(tiles, part, valid, depth, to + panel, PackedUse::Soon);
  }
}

}  // namespace executorch::kernels::engine
