// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface between the driver of 4-bit products and its micro-kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/eltwise/quantize_rows.h>
#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

inline constexpr size_t kInt4Panel = 16, kInt4Block = 32;

/// Up to Int4Tiles::rows rows times consecutive panels.
struct Int4Tile {
  size_t rows = 0, columns = 0;
  size_t group = 0, groups = 0;
  bool has_column_scales = false;
  const int8_t* left = nullptr;
  size_t left_stride = 0;
  const int32_t* sums = nullptr;                ///< [rows, groups], what sums of groups begin with
  const RowQuantization* parameters = nullptr;  ///< one a row
  const uint8_t* packed = nullptr;
  float* out = nullptr;
  size_t out_stride = 0;
  float clamp_min = 0, clamp_max = 0;

  size_t scale_bytes() const { return has_column_scales ? sizeof(float) : sizeof(uint16_t); }
};

struct Int4Tiles {
  size_t rows;
  void (*multiply)(const Int4Tile& tile);
};

/// Prefetches weights at a fixed distance, which may be beyond the last one. A single row reads
/// weights at the memory's speed, and a processor's own prefetching ends with each page. The
/// distance was chosen by `python -m test.benchmark.llm --bits 4`.
inline void prefetch_int4(const uint8_t* weights) {
  constexpr uintptr_t kAhead = 6144;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(weights) + kAhead));
}

#if defined(__x86_64__)
/// Writes -8 times the sum of each group's elements.
void int4_group_sums_avx2(const int8_t* row, size_t group, size_t groups, int32_t* sums);
extern const Int4Tiles kInt4TilesAvx2, kInt4TilesVnni;
#endif

}  // namespace executorch::kernels::engine
