// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows as the columns of a panel, transposed in squares of 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/gemm/tiles/tiles.h>

namespace executorch::kernels::engine {

/// GemmTiles::pack_rows for panels of a multiple of 16 columns. Columns from `rows` to the next
/// multiple of 16 become zeros.
void pack_rows_avx512(const float* from, size_t rows, size_t stride, size_t depth, float* to,
                      size_t panel, PackedUse use);

/// out[c * out_stride + r] = in[r * in_stride + c] for r < rows, c < columns, both at most 16.
void transpose_block_avx512(const uint32_t* in, size_t in_stride, uint32_t* out, size_t out_stride,
                            size_t rows, size_t columns);

}  // namespace executorch::kernels::engine
