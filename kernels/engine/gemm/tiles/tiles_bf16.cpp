// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of pairs of bfloat16 for AVX512-BF16: the tiles of float32 with another multiplication. The
// instruction adds both products of a pair to a float32 sum, rounds to nearest whatever the
// rounding mode is, and takes subnormal numbers for zero.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack/pack_avx512.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bf16,prfchw")))
#define INLINE AVX512 inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

struct Factors {
  static constexpr bool kWritesPairs = true;

  static INLINE __m512 multiply_add(__m512 element, __m512 weights, __m512 sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)element, (__m512bh)weights);
  }
  /// The rounded elements of `low`, then those of `high`.
  static INLINE __m512i pairs_of(__m512 low, __m512 high) {
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
  }
};

#include <executorch/kernels/engine/gemm/tiles/tiles_avx512.inc>

}  // namespace

const GemmTiles& gemm_tiles_avx512_bf16() {
  static constexpr GemmTiles kTiles = {InstructionSet::Avx512Bf16,
                                       "gemm_tiles_avx512_bf16",
                                       kPanel,
                                       kRows,
                                       kPairRows,
                                       tiles_for,
                                       pack_rows_avx512,
                                       Precision::BFloat16,
                                       false,
                                       Factors::kWritesPairs};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
