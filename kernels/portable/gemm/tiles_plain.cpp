// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

#include <executorch/kernels/portable/gemm/tile_product.h>

namespace executorch::kernels::portable {

const GemmTiles& plain_gemm_tiles() {
  // 16 bytes are a register of SSE2 and NEON, and what compilers split best on processors without
  // any.
  static constexpr GemmTiles kTiles = {gemm_tile<float, 16, 4, 2>(), gemm_tile<double, 16, 4, 2>(),
                                       gemm_tile<uint64_t, 16, 2, 1>()};
  return kTiles;
}

}  // namespace executorch::kernels::portable
