// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer norm of rows, for XNNPACK, by the loop of our own kernels (kernels/optimized/row_loops.h).
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Rows of `length` numbers, which follow each other. Input and output may be the same.
struct executorch_row_norm {
  const float* in;
  float* out;
  const float *weight, *bias;  ///< of a row; NULL for none
  size_t length;
  float epsilon;
};

/// A task: some of the rows.
void executorch_norm_rows(const struct executorch_row_norm* norm, size_t first, size_t count);

#ifdef __cplusplus
}
#endif
