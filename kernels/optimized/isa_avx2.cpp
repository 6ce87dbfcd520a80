// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Compiled for one instruction set: see the CMake file. It must not leave code of its own for
// others to link to: what it includes is in unnamed namespaces.
#include <executorch/kernels/gemm/tile_product.h>
#include <executorch/kernels/optimized/vector_rows.h>

namespace executorch::kernels::optimized {

const Isa& isa_avx2() {
  static constexpr int kBytes = 32;
  static constexpr GemmTiles kTiles = {gemm_tile<float, kBytes, 6, 2>(),
                                       gemm_tile<double, kBytes, 6, 2>(),
                                       gemm_tile<uint64_t, kBytes, 2, 1>()};
  static constexpr Isa kIsa = vector_isa<kBytes>("avx2", kTiles);
  return kIsa;
}

}  // namespace executorch::kernels::optimized
