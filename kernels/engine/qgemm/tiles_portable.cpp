// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/qgemm/requantize.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 4, kPanel = 8;

using Sums = int32_t[kRows][kPanel];

/// Adds the products with all of the left operand; unsigned, so that sums wrap.
void add_products(const QLeftRows& left, const int8_t* w, Sums& sums) {
  for (size_t part = 0; part < left.parts; ++part) {
    const int8_t* row[kRows];
    for (size_t r = 0; r < kRows; ++r) row[r] = left.row(part, std::min(r, left.count - 1));
    for (size_t d = 0; d < left.depth; ++d, w += kPanel) {
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t c = 0; c < kPanel; ++c) {
          sums[r][c] = int32_t(uint32_t(sums[r][c]) + uint32_t(row[r][d] * w[c]));
        }
      }
    }
  }
}

float float_at(const int8_t* bytes, size_t index) {
  float value = 0;
  std::memcpy(&value, bytes + index * sizeof(float), sizeof(value));
  return value;
}

int32_t int32_at(const int8_t* bytes, size_t index) {
  int32_t value = 0;
  std::memcpy(&value, bytes + index * sizeof(value), sizeof(value));
  return value;
}

const QGemmTiles& tiles() { return qgemm_tiles_portable(); }

void to_bytes(const QLeftRows& left, const int8_t* packed, size_t columns, int8_t* out,
              size_t out_stride, const Requantization& to) {
  const size_t bytes = tiles().panel_bytes(left.parts, left.depth);
  for (size_t first = 0; first < columns; first += kPanel, packed += bytes, out += kPanel) {
    Sums sums;
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t c = 0; c < kPanel; ++c) sums[r][c] = int32_at(packed, c);
    }
    add_products(left, packed + tiles().sums_bytes(), sums);
    const int8_t* const scales =
        packed + tiles().sums_bytes() + tiles().weights_bytes(left.parts, left.depth);
    for (size_t r = 0; r < left.count; ++r) {
      for (size_t c = 0; c < std::min(kPanel, columns - first); ++c) {
        out[r * out_stride + c] = requantized(sums[r][c], float_at(scales, c), to);
      }
    }
  }
}

void to_floats(const QLeftRows& left, const int8_t* packed, size_t columns, float* out,
               size_t out_stride, const QDynamic& how) {
  const size_t bytes = tiles().panel_bytes(left.parts, left.depth);
  for (size_t first = 0; first < columns; first += kPanel, packed += bytes, out += kPanel) {
    Sums sums;
    for (size_t r = 0; r < kRows; ++r) {
      const int32_t zero = how.row(std::min(r, left.count - 1)).zero_point;
      for (size_t c = 0; c < kPanel; ++c) {
        sums[r][c] = int32_t(uint32_t(int32_at(packed, c)) * uint32_t(zero));
      }
    }
    add_products(left, packed + tiles().sums_bytes(), sums);
    const int8_t* const scales =
        packed + tiles().sums_bytes() + tiles().weights_bytes(left.parts, left.depth);
    for (size_t r = 0; r < left.count; ++r) {
      for (size_t c = 0; c < std::min(kPanel, columns - first); ++c) {
        out[r * out_stride + c] = dequantized(sums[r][c], how.row(r).scale, float_at(scales, c),
                                              float_at(scales, kPanel + c), how);
      }
    }
  }
}

}  // namespace

const QGemmTiles& qgemm_tiles_portable() {
  static constexpr QGemmTiles kTiles = {InstructionSet::Scalar,
                                        "qgemm_tiles_portable",
                                        kRows,
                                        kPanel,
                                        1,
                                        0,
                                        kItemWeightBytes,
                                        to_bytes,
                                        to_floats};
  return kTiles;
}

const QGemmTiles& qgemm_tiles(InstructionSet set) {
  const QGemmTiles* best = &qgemm_tiles_portable();
#define ET_QGEMM_TILES(function, needed)                                              \
  if (set >= InstructionSet::needed && has_instruction_set(InstructionSet::needed)) { \
    best = &function();                                                               \
  }
#include <executorch/kernels/engine/qgemm/kernels.inc>
#undef ET_QGEMM_TILES
  return *best;
}

}  // namespace executorch::kernels::engine
