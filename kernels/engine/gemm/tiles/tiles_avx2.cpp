// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 6 rows x 16 columns for AVX2 and FMA. The loops are assembly: 12 sums, two vectors
// of weights and two elements take all 16 registers, and compilers (GCC 12) spill sums.
#include <executorch/kernels/engine/gemm/pack/pack_rows.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>

#define AVX2 __attribute__((target("avx2,fma")))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 6, kPanel = 16, kVector = 8, kLine = 64;

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
// All of depth: %[k] goes from minus its bytes to 0; rows and prefetched lines are given by their
// ends.
#define ALONG_DEPTH(STEP) \
  "cmp $-16, %[k]\n"     \
  "jg 2f\n"              \
  ".p2align 5\n"         \
  "1:\n"                 \
  "prefetcht0 (%[next],%[k],4)\n" \
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
// For each row, the place that its sums come from, then the place that its results go to.
#define BEGIN_ROW(r, low, high)                        \
  "mov 8*" #r "(%[places]), %[at]\n"                   \
  "vmovups (%[at]), %%ymm" #low "\n"                   \
  "vmovups 32(%[at]), %%ymm" #high "\n"
// The instructions return their second operand, the first in this syntax, where either is NaN.
#define END_ROW(r, low, high)                          \
  "mov 48+8*" #r "(%[places]), %[at]\n"                \
  "vmaxps %%ymm" #low ", %%ymm12, %%ymm" #low "\n"     \
  "vmaxps %%ymm" #high ", %%ymm12, %%ymm" #high "\n"   \
  "vminps %%ymm" #low ", %%ymm13, %%ymm" #low "\n"     \
  "vminps %%ymm" #high ", %%ymm13, %%ymm" #high "\n"   \
  "vmovups %%ymm" #low ", (%[at])\n"                   \
  "vmovups %%ymm" #high ", 32(%[at])\n"
#define ROWS_1(DO) DO(0, 0, 1)
#define ROWS_2(DO) ROWS_1(DO) DO(1, 2, 3)
#define ROWS_4(DO) ROWS_2(DO) DO(2, 4, 5) DO(3, 6, 7)
#define ROWS_6(DO) ROWS_4(DO) DO(4, 8, 9) DO(5, 10, 11)
#define REGISTERS                                                                                 \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
      "xmm12", "xmm13", "xmm14", "xmm15"
#define ADD_PRODUCTS(rows)                                                                   \
  __asm__ volatile(ROWS_##rows(BEGIN_ROW) ALONG_DEPTH(STEP_##rows)                           \
                   "vbroadcastss 96(%[places]), %%ymm12\n"                                   \
                   "vbroadcastss 100(%[places]), %%ymm13\n"                                  \
                   ROWS_##rows(END_ROW) "vzeroupper\n"                                       \
                   : [w] "+&r"(w), [k] "+&r"(k), [at] "=&r"(at)                              \
                   : [a0] "r"(end[0]), [a1] "r"(end[1]), [a2] "r"(end[2]), [a3] "r"(end[3]), \
                     [a4] "r"(end[4]), [a5] "r"(end[5]), [places] "r"(&places), [next] "r"(next) \
                   : "memory", "cc", REGISTERS)
// clang-format on

/// The addresses of rows, `stride` bytes apart. Rows beyond `count` repeat the last one.
template <class Pointer>
inline void set_rows(Pointer first, size_t stride, size_t count, Pointer* rows) {
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
    rows[r] = first;
    first = moved(first, r + 1 < count ? stride : 0);
  }
}

/// Addresses of whole rows, each 16 floats. Rows beyond the last one compute and write the same
/// numbers as that one. The assembly contains the offsets of these fields.
struct Places {
  const float* from[kRows];
  float* to[kRows];
  float clamp_min, clamp_max;
};
static_assert(offsetof(Places, to) == 48 && offsetof(Places, clamp_min) == 96 &&
              offsetof(Places, clamp_max) == 100);

/// Adds a part's products to the sums of at least `rows` rows; returns the next part's weights.
const float* add_part(size_t rows, const float* const* end, size_t depth, const float* w,
                      const char* next, const Places& places) {
  intptr_t k = -intptr_t(depth * sizeof(float));
  const void* at;
  if (rows == 1) {
    ADD_PRODUCTS(1);
  } else if (rows == 2) {
    ADD_PRODUCTS(2);
  } else if (rows <= 4) {
    ADD_PRODUCTS(4);
  } else {
    ADD_PRODUCTS(6);
  }
  return w;
}

/// The end of the lines that a part prefetches, one for each kDepthStep: the next of `prefetch`, or
/// weights of its own if there are none.
const char* next_lines(Prefetch& prefetch, size_t depth, const float* w) {
  const size_t bytes = depth / kDepthStep * kLine;
  if (prefetch.at[0] >= prefetch.end) return moved(reinterpret_cast<const char*>(w), bytes);
  return prefetch.at[0] = moved(prefetch.at[0], bytes);
}

/// Prefetches the rows of the output that the tile writes at its end.
void prefetch_rows(const OutputTile& to, size_t rows) {
  for (size_t r = 0; r < rows; ++r) __builtin_prefetch(moved(to.out, r * to.row_bytes), 0, 3);
}

/// The ends of a part's rows.
void find_ends(const LeftRows& left, size_t part, const float** end) {
  const size_t bytes = left.depth * sizeof(float);
  if (left.table == nullptr) {
    return set_rows(moved(left.first, part * left.part_stride + bytes), left.stride, left.count,
                    end);
  }
  const float* const* const table = left.table + part * left.table_rows;
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
    const float* const at = table[std::min(r, left.count - 1)];
    end[r] = moved(at, (at == left.zero ? 0 : left.offset) + bytes);
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

/// Clamps the sums, adds residuals, and stores the valid columns.
AVX2 void store_rows(size_t rows, float* sums, const OutputTile& to) {
  const bool adds = to.is_last_block && to.has_residual;
  for (size_t r = 0; r < rows; ++r) {
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

/// Sums stay in registers; they pass through `sums` between parts, and where the output's rows are
/// shorter than the panel's or a residual is added.
AVX2 void tile(const LeftRows& left, Prefetch& prefetch, const OutputTile& to) {
  constexpr size_t kRowBytes = kPanel * sizeof(float);
  alignas(32) float sums[kRows * kPanel];
  const size_t rows = left.count;
  const bool is_whole = to.count == kPanel;
  const bool stores = is_whole && !(to.is_last_block && to.has_residual);
  Places places;
  if (to.is_first_block) {
    set_rows(to.bias[0], to.bias_stride, rows, places.from);
  } else if (is_whole) {
    set_rows<const float*>(to.out, to.row_bytes, rows, places.from);
  } else {
    for (size_t r = 0; r < rows; ++r) {
      float* const row = sums + r * kPanel;
      std::memcpy(row, moved(to.out, r * to.row_bytes), to.count * sizeof(float));
      std::fill(row + to.count, row + kPanel, 0.0f);
    }
    set_rows<const float*>(sums, kRowBytes, rows, places.from);
  }
  places.clamp_min = -INFINITY;
  places.clamp_max = INFINITY;
  // Transposed convolutions have outputs that no input reaches: only the bias.
  for (size_t r = 0; left.parts == 0 && r < rows; ++r) {
    std::memmove(sums + r * kPanel, places.from[r], kRowBytes);
  }
  const float* w = to.weights[0];
  if (left.parts * left.depth >= kMinOutputPrefetchDepth) prefetch_rows(to, rows);
  for (size_t part = 0; part < left.parts; ++part) {
    if (part == left.parts - 1 && stores) {
      set_rows(to.out, to.row_bytes, rows, places.to);
      places.clamp_min = to.is_last_block ? to.clamp_min : -INFINITY;
      places.clamp_max = to.is_last_block ? to.clamp_max : INFINITY;
    } else if (part == 0) {
      set_rows<float*>(sums, kRowBytes, rows, places.to);
    }
    const float* end[kRows];
    find_ends(left, part, end);
    w = add_part(rows, end, left.depth, w, next_lines(prefetch, left.depth, w), places);
    if (part == 0 && left.parts > 1) set_rows<const float*>(sums, kRowBytes, rows, places.from);
  }
  if (!stores || left.parts == 0) store_rows(rows, sums, to);
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
