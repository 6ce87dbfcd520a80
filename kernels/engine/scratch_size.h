// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sizes of scratch memory, computed without overflow: on 32-bit systems, operands that fit memory
// may need more scratch memory than size_t can count. Callers refuse kMaxScratch and more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace executorch::kernels::engine {

inline constexpr size_t kMaxScratch = SIZE_MAX / 2;

/// a * b, at most `limit`.
inline size_t limited_product(size_t a, size_t b, size_t limit = kMaxScratch) {
  size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? limit : std::min(product, limit);
}

/// The sum of two sizes, each at most kMaxScratch, limited to kMaxScratch.
inline size_t limited_sum(size_t a, size_t b) { return std::min(a + b, kMaxScratch); }

}  // namespace executorch::kernels::engine
