// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of float32 for AVX-512.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack/pack_avx512.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,prfchw")))
#define INLINE AVX512 inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

struct Factors {
  static constexpr bool kWritesPairs = false;

  static INLINE __m512 multiply_add(__m512 element, __m512 weights, __m512 sum) {
    return _mm512_fmadd_ps(element, weights, sum);
  }
};

#include <executorch/kernels/engine/gemm/tiles/tiles_avx512.inc>

}  // namespace

const GemmTiles& gemm_tiles_avx512() {
  static constexpr GemmTiles kTiles = {
      InstructionSet::Avx512, "gemm_tiles_avx512", kPanel, kRows, kPairRows, tiles_for,
      pack_rows_avx512};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
