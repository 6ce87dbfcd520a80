// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packing of right operands (gemm.h says how).
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

namespace executorch::kernels::engine {

/// Below this size, one thread packs in about the time that another one takes to wake up.
inline constexpr size_t kBytesWorthThreads = size_t{1} << 20;

/// Writes to[d * panel + c] for c < panel and d < depth (pairs of d for tiles of bfloat16); columns
/// beyond `columns` are zeros.
void pack_weights(const GemmTiles& tiles, const RightMatrix& right, size_t columns, size_t depth,
                  float* to, PackedUse use);
/// Writes a panel's biases; null gives zeros.
void pack_bias(const GemmTiles& tiles, const float* bias, size_t columns, float* to);
/// Writes a panel's weights and biases, for later use.
void pack_panel(const GemmTiles& tiles, const RightMatrix& right, const float* bias, size_t columns,
                size_t depth, float* to);
/// All panels of `columns`, one after the other, for use soon.
void pack_panels(const GemmTiles& tiles, const RightMatrix& right, const float* bias,
                 size_t columns, size_t depth, float* to);

}  // namespace executorch::kernels::engine
