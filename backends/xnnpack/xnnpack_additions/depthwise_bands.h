// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions of float32, some rows of points at once, for processors with AVX-512. The
// windows of rows below each other overlap as those of neighbours do (depthwise_rows.h): row after
// row, a channel of the image is read as often as the window is high, most of it from the second
// cache, which then is what the time goes to. Each sum is the same to the bit.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Some rows of a convolution's points. Strides and offsets are bytes.
struct executorch_band {
  size_t rows, width, channels;
  /// For each row, `table_row` further, pointers to its windows' points, column after column, of
  /// which neighbours share what overlaps. All but those to `zero` are moved by `offset`.
  const float** table;
  size_t table_row, offset;
  const float* zero;
  const float* weights;  ///< packed as for executorch_depthwise_rows
  float* output;
  size_t output_row, output_point;
  float least, most;  ///< results
};

/// Computes the rows of a band that are some at once; returns how many are left, the last ones.
typedef size_t executorch_compute_rows(const struct executorch_band* band);

/// Square windows.
struct executorch_windows_of_band {
  size_t size, step;
};

/// What computes such windows, and in *rows how many rows it computes at once; NULL if nothing
/// does.
executorch_compute_rows* executorch_find_rows_at_once(struct executorch_windows_of_band windows,
                                                      size_t* rows);

#ifdef __cplusplus
}
#endif
