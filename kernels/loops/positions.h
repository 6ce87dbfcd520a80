// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indices as they come in tensors: read from int32 or int64, counted from the end when negative,
// never trusted.
#pragma once

#include <executorch/kernels/loops/check.h>
#include <executorch/kernels/loops/convert.h>

namespace executorch::kernels {

/// An index is within [0, size). To be asked of each one just before it is used, not of many ahead:
/// a damaged program may have placed what is written over the indices.
inline bool expect_within(KernelRuntimeContext& ctx, int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size) ||
         refuse(ctx, "index %" PRId64 " is outside of a dimension of size %" PRId64, index, size);
}

}  // namespace executorch::kernels
