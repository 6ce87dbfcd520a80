// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

namespace executorch::kernels::engine {

/// GemmTiles::pack_rows in plain C++: a cache line of each row at a time.
inline void pack_rows(const float* from, size_t rows, size_t stride, size_t depth, float* to,
                      size_t panel) {
  constexpr size_t kLine = 16;
  for (size_t begin = 0; begin < depth; begin += kLine) {
    const size_t end = std::min(depth, begin + kLine);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t d = begin; d < end; ++d) to[d * panel + row] = from[row * stride + d];
    }
  }
}

}  // namespace executorch::kernels::engine
