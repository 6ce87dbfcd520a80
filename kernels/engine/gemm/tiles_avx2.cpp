// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 6 rows x 16 columns for AVX2 and FMA. The loops are assembly: 12 sums, two vectors
// of weights and two elements take all 16 registers, and compilers (GCC 12) spill sums.
#include <executorch/kernels/engine/gemm/pack_rows.h>
#include <executorch/kernels/engine/gemm/tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>

#define AVX2 __attribute__((target("avx2,fma")))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 6, kPanel = 16, kVector = 8;

// clang-format off
// Row r, `at` bytes after its element at k, times two vectors of weights.
#define TIMES_ROW(r, at, element, low, high)                     \
  "vbroadcastss " #at "(%[a" #r "],%[k]), %%ymm" #element "\n"   \
  "vfmadd231ps %%ymm12, %%ymm" #element ", %%ymm" #low "\n"      \
  "vfmadd231ps %%ymm13, %%ymm" #element ", %%ymm" #high "\n"
#define LOAD_WEIGHTS(w0, w1)         \
  "vmovaps " #w0 "(%[w]), %%ymm12\n" \
  "vmovaps " #w1 "(%[w]), %%ymm13\n"
#define STEP_1(at, w0, w1) LOAD_WEIGHTS(w0, w1) TIMES_ROW(0, at, 14, 0, 1)
#define STEP_2(at, w0, w1) STEP_1(at, w0, w1) TIMES_ROW(1, at, 15, 2, 3)
#define STEP_4(at, w0, w1) STEP_2(at, w0, w1) TIMES_ROW(2, at, 14, 4, 5) TIMES_ROW(3, at, 15, 6, 7)
#define STEP_6(at, w0, w1) STEP_4(at, w0, w1) TIMES_ROW(4, at, 14, 8, 9) TIMES_ROW(5, at, 15, 10, 11)
// All of depth: %[k] goes from minus its bytes to 0; rows are given by their ends.
#define ALONG_DEPTH(STEP) \
  "cmp $-16, %[k]\n"     \
  "jg 2f\n"              \
  ".p2align 5\n"         \
  "1:\n"                 \
  STEP(0, 0, 32)         \
  STEP(4, 64, 96)        \
  STEP(8, 128, 160)      \
  STEP(12, 192, 224)     \
  "add $256, %[w]\n"     \
  "add $16, %[k]\n"      \
  "cmp $-16, %[k]\n"     \
  "jle 1b\n"             \
  "2:\n"                 \
  "test %[k], %[k]\n"    \
  "jz 4f\n"              \
  "3:\n"                 \
  STEP(0, 0, 32)         \
  "add $64, %[w]\n"      \
  "add $4, %[k]\n"       \
  "jnz 3b\n"             \
  "4:\n"
#define LOAD_SUM(i, at) "vmovaps " #at "(%[sums]), %%ymm" #i "\n"
#define STORE_SUM(i, at) "vmovaps %%ymm" #i ", " #at "(%[sums])\n"
#define SUMS(MOVE)                                                                    \
  MOVE(0, 0) MOVE(1, 32) MOVE(2, 64) MOVE(3, 96) MOVE(4, 128) MOVE(5, 160)            \
  MOVE(6, 192) MOVE(7, 224) MOVE(8, 256) MOVE(9, 288) MOVE(10, 320) MOVE(11, 352)
#define REGISTERS                                                                                 \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
      "xmm12", "xmm13", "xmm14", "xmm15"
#define ADD_PRODUCTS(STEP)                                                                \
  __asm__ volatile(SUMS(LOAD_SUM) ALONG_DEPTH(STEP) SUMS(STORE_SUM) "vzeroupper\n"        \
                   : [w] "+r"(w), [k] "+r"(k)                                             \
                   : [a0] "r"(end[0]), [a1] "r"(end[1]), [a2] "r"(end[2]),                \
                     [a3] "r"(end[3]), [a4] "r"(end[4]), [a5] "r"(end[5]), [sums] "r"(sums) \
                   : "memory", "cc", REGISTERS)
// clang-format on

/// Adds a part's products to the sums of at least `rows` rows; returns the next part's weights.
const float* add_part(size_t rows, const float* const* end, size_t depth, const float* w,
                      float* sums) {
  intptr_t k = -intptr_t(depth * sizeof(float));
  if (rows == 1) {
    ADD_PRODUCTS(STEP_1);
  } else if (rows == 2) {
    ADD_PRODUCTS(STEP_2);
  } else if (rows <= 4) {
    ADD_PRODUCTS(STEP_4);
  } else {
    ADD_PRODUCTS(STEP_6);
  }
  return w;
}

/// The ends of a part's rows. Rows beyond `count` repeat the last one.
void find_ends(const LeftRows& left, size_t part, const float** end) {
  for (size_t r = 0; r < kRows; ++r) {
    const size_t row = std::min(r, left.count - 1);
    const float* at = nullptr;
    if (left.table == nullptr) {
      at = moved(left.first, part * left.part_stride + row * left.stride);
    } else {
      const float* const pointer = left.table[part * left.table_rows + row];
      at = pointer == left.zero ? pointer : moved(pointer, left.offset);
    }
    end[r] = moved(at, left.depth * sizeof(float));
  }
}

void begin(const LeftRows& left, const OutputTile& to, float* sums) {
  for (size_t r = 0; r < left.count; ++r) {
    if (to.is_first_block) {
      std::memcpy(sums + r * kPanel, to.bias[0], kPanel * sizeof(float));
    } else {
      std::memcpy(sums + r * kPanel, moved(to.out, r * to.row_bytes), to.count * sizeof(float));
    }
  }
}

AVX2 inline __attribute__((always_inline)) __m256 finished(__m256 sum, const float* residual,
                                                           const OutputTile& to) {
  if (residual != nullptr) sum = _mm256_add_ps(sum, _mm256_loadu_ps(residual));
  // The instructions return their second operand where either is NaN.
  return _mm256_min_ps(_mm256_set1_ps(to.clamp_max),
                       _mm256_max_ps(_mm256_set1_ps(to.clamp_min), sum));
}

AVX2 void store_whole(float* place, const float* residual, float* sums, const OutputTile& to) {
  for (size_t c = 0; c < kPanel; c += kVector) {
    __m256 sum = _mm256_load_ps(sums + c);
    if (to.is_last_block) sum = finished(sum, residual == nullptr ? nullptr : residual + c, to);
    _mm256_storeu_ps(place + c, sum);
  }
}

AVX2 void tile(const LeftRows& left, Prefetch&, const OutputTile& to) {
  alignas(32) float sums[kRows * kPanel] = {};
  begin(left, to, sums);
  const float* w = to.weights[0];
  for (size_t part = 0; part < left.parts; ++part) {
    const float* end[kRows];
    find_ends(left, part, end);
    w = add_part(left.count, end, left.depth, w, sums);
  }
  const bool adds = to.is_last_block && to.has_residual;
  for (size_t r = 0; r < left.count; ++r) {
    float* const place = moved(to.out, r * to.row_bytes);
    const float* residual = adds ? moved(place, to.residual) : nullptr;
    if (to.count == kPanel) {
      store_whole(place, residual, sums + r * kPanel, to);
      continue;
    }
    float edge[kPanel], edge_residual[kPanel] = {};
    if (adds) {
      std::memcpy(edge_residual, residual, to.count * sizeof(float));
      residual = edge_residual;
    }
    store_whole(edge, residual, sums + r * kPanel, to);
    std::memcpy(place, edge, to.count * sizeof(float));
  }
}

constexpr TileFunction kTilesOfRows[kRows] = {tile, tile, tile, tile, tile, tile};

const TileFunction* tiles_for(size_t) { return kTilesOfRows; }

}  // namespace

const GemmTiles& gemm_tiles_avx2() {
  static constexpr GemmTiles kTiles = {
      InstructionSet::Avx2, "gemm_tiles_avx2", kPanel, kRows, 0, tiles_for, pack_rows};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
