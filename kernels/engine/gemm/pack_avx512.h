// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows as the columns of a panel, transposed in squares of 16.
#pragma once

#include <cstddef>

namespace executorch::kernels::engine {

/// GemmTiles::pack_rows for panels of a multiple of 16 columns. Columns from `rows` to the next
/// multiple of 16 become zeros.
void pack_rows_avx512(const float* from, size_t rows, size_t stride, size_t depth, float* to,
                      size_t panel);

}  // namespace executorch::kernels::engine
