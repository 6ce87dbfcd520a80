// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of weights as the columns of a panel, in squares of 16 (used by packing.c). XNNPACK's own
// takes a line of memory of each row four times, and for 32 columns alone.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Of the rows that are transposed at once: a line of memory of each.
#define EXECUTORCH_PACKED_ROWS 16

/// rows: at most `panel` of them, of `length` elements each, one behind the other. panel: a
/// multiple of 16. to: [length, panel]; columns up to the next multiple of 16 become zeros, others
/// are left as they are.
void executorch_pack_columns_avx512(const float* from, size_t rows, size_t length, float* to,
                                    size_t panel);

#ifdef __cplusplus
}
#endif
