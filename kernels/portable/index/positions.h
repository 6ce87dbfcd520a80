// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indices as they come in tensors: read from int32 or int64, counted from the end when negative,
// never trusted.
#pragma once

#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>

namespace executorch::kernels::portable {

/// The first index of a run that is outside of [0, size), or nullptr.
inline const int64_t* first_outside(const int64_t* indices, int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; ++i) {
    if (indices[i] < 0 || indices[i] >= size) return indices + i;
  }
  return nullptr;
}

/// All n are within [0, size).
inline bool expect_within(KernelRuntimeContext& ctx, const int64_t* indices, int64_t n,
                          int64_t size) {
  const int64_t* const wrong = first_outside(indices, n, size);
  return wrong == nullptr ||
         refuse(ctx, "index %" PRId64 " is outside of a dimension of size %" PRId64, *wrong, size);
}

}  // namespace executorch::kernels::portable
