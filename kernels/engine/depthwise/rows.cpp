// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/depthwise/row.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/depthwise/rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

DepthwiseRowFunction depthwise_rows_function([[maybe_unused]] InstructionSet set,
                                             [[maybe_unused]] size_t window,
                                             [[maybe_unused]] size_t stride,
                                             [[maybe_unused]] const DepthwiseRow& row,
                                             [[maybe_unused]] size_t* rows) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return avx512::find(window, stride, row, rows);
#endif
  return nullptr;
}

}  // namespace executorch::kernels::engine
