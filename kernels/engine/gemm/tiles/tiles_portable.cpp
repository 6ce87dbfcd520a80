// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles in the compiler's vectors of 16 bytes (SSE2, NEON) and in single floats.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack/pack_rows.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

#include <cstring>

namespace executorch::kernels::engine {
namespace {

template <size_t kLanes>
struct Vector {
  typedef float Type __attribute__((vector_size(4 * kLanes)));
};
template <>
struct Vector<1> {
  using Type = float;
};

template <class V>
inline __attribute__((always_inline)) V load(const float* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

float clamped(float sum, const OutputTile& to) {  // NaN compares false and propagates
  if (sum < to.clamp_min) return to.clamp_min;
  return sum > to.clamp_max ? to.clamp_max : sum;
}

void store_row(float* place, const float* sums, const OutputTile& to) {
  const float* const residual = moved(place, to.residual);
  for (size_t c = 0; c < to.count; ++c) {
    float sum = sums[c];
    if (to.is_last_block && to.has_residual) sum += residual[c];
    place[c] = to.is_last_block ? clamped(sum, to) : sum;
  }
}

/// kRows rows x kVectors vectors of kLanes columns. Rows beyond `count` repeat the last one.
template <size_t kLanes, size_t kVectors, size_t kRows>
void tile(const LeftRows& left, Prefetch&, const OutputTile& to) {
  using V = typename Vector<kLanes>::Type;
  constexpr size_t kPanel = kLanes * kVectors;
  V sums[kRows][kVectors];
  for (size_t r = 0; r < kRows; ++r) {
    float begin[kPanel] = {};
    const size_t row = r < left.count ? r : 0;
    const float* from = moved(to.bias[0], row * to.bias_stride);
    if (!to.is_first_block) {
      std::memcpy(begin, moved(to.out, row * to.row_bytes), to.count * sizeof(float));
      from = begin;
    }
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = load<V>(from + v * kLanes);
  }
  const float* w = to.weights[0];
  for (size_t part = 0; part < left.parts; ++part) {
    const float* row[kRows];
    for (size_t r = 0; r < kRows; ++r) {
      const size_t at = r < left.count ? r : left.count - 1;
      if (left.table == nullptr) {
        row[r] = moved(left.first, part * left.part_stride + at * left.stride);
      } else {
        const float* const pointer = left.table[part * left.table_rows + at];
        row[r] = pointer == left.zero ? pointer : moved(pointer, left.offset);
      }
    }
    for (size_t d = 0; d < left.depth; ++d, w += kPanel) {
      V weights[kVectors];
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) weights[v] = load<V>(w + v * kLanes);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (size_t v = 0; v < kVectors; ++v) sums[r][v] += row[r][d] * weights[v];
      }
    }
  }
  for (size_t r = 0; r < left.count; ++r) {
    float row[kPanel];
    std::memcpy(row, sums[r], sizeof(row));
    store_row(moved(to.out, r * to.row_bytes), row, to);
  }
}

}  // namespace

const GemmTiles& gemm_tiles_scalar() {
  static constexpr TileFunction kOfRows[] = {tile<1, 4, 1>, tile<1, 4, 2>};
  static constexpr GemmTiles kTiles = {InstructionSet::Scalar,
                                       "gemm_tiles_scalar",
                                       4,
                                       2,
                                       0,
                                       [](size_t) -> const TileFunction* { return kOfRows; },
                                       pack_rows};
  return kTiles;
}

#if defined(__x86_64__)
const GemmTiles& gemm_tiles_sse2() {
  static constexpr TileFunction kOfRows[] = {tile<4, 2, 1>, tile<4, 2, 2>, tile<4, 2, 4>,
                                             tile<4, 2, 4>};
  static constexpr GemmTiles kTiles = {InstructionSet::Sse2,
                                       "gemm_tiles_sse2",
                                       8,
                                       4,
                                       0,
                                       [](size_t) -> const TileFunction* { return kOfRows; },
                                       pack_rows};
  return kTiles;
}
#elif defined(__ARM_NEON)
const GemmTiles& gemm_tiles_neon() {
  static constexpr TileFunction kOfRows[] = {tile<4, 2, 1>, tile<4, 2, 2>, tile<4, 2, 4>,
                                             tile<4, 2, 4>, tile<4, 2, 6>, tile<4, 2, 6>,
                                             tile<4, 2, 8>, tile<4, 2, 8>};
  static constexpr GemmTiles kTiles = {InstructionSet::Neon,
                                       "gemm_tiles_neon",
                                       8,
                                       8,
                                       0,
                                       [](size_t) -> const TileFunction* { return kOfRows; },
                                       pack_rows};
  return kTiles;
}
#endif

const GemmTiles& gemm_tiles(InstructionSet set, Precision precision) {
  const GemmTiles* best = &gemm_tiles_scalar();
#define ET_GEMM_TILES(function, factors, lowest, panel, rows, pair_rows)             \
  if (set >= InstructionSet::lowest &&                                               \
      (Precision::factors == Precision::Float32 || Precision::factors == precision)) \
    best = &function();
#include <executorch/kernels/engine/gemm/kernels.inc>
#undef ET_GEMM_TILES
  return *best;
}

}  // namespace executorch::kernels::engine
