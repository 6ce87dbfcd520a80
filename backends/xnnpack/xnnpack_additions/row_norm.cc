// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "row_norm.h"

#include <executorch/kernels/loops/wide.h>
#include <executorch/kernels/optimized/row_loops.h>

namespace {

using namespace executorch::kernels;

template <int kBytes>
void norm_rows(const executorch_row_norm& norm, size_t first, size_t count) {
  for (size_t row = first; row < first + count; ++row) {
    float mean, scale;
    const size_t at = row * norm.length;
    optimized::layer_norm_row<kBytes>(norm.in + at, norm.out + at, int64_t(norm.length),
                                      norm.weight, norm.bias, norm.epsilon, &mean, &scale);
  }
}

void rows_of_16(const executorch_row_norm* norm, size_t first, size_t count) {
  norm_rows<16>(*norm, first, count);
}
void rows_of_32(const executorch_row_norm* norm, size_t first, size_t count) {
  norm_rows<32>(*norm, first, count);
}
void rows_of_64(const executorch_row_norm* norm, size_t first, size_t count) {
  norm_rows<64>(*norm, first, count);
}

}  // namespace

void executorch_norm_rows(const executorch_row_norm* norm, size_t first, size_t count) {
#if ET_WIDE_VECTORS
  if (has_fused_widest()) return FusedWidest<rows_of_64>::run(norm, first, count);
  if (has_fused()) return Fused<rows_of_32>::run(norm, first, count);
#endif
  rows_of_16(norm, first, count);
}
