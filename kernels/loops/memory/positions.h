// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indices as they come in tensors: read from int32 or int64, counted from the end when negative,
// never trusted.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/check.h>

namespace executorch::kernels {

/// The index that stands at `from`, in one load. Memory of indices may change while a kernel runs:
/// the caller's by another thread, planned memory by the kernel's own writes. What was checked must
/// be what is used, so the compiler must not read the memory a second time.
inline int64_t load_index(const int64_t* from) {
  return *static_cast<const volatile int64_t*>(from);
}

/// An index is within [0, size). To be asked of the loaded index just before it is used, not of
/// many ahead.
inline bool expect_within(KernelRuntimeContext& ctx, int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size) ||
         refuse(ctx, "index %" PRId64 " is outside of a dimension of size %" PRId64, index, size);
}

}  // namespace executorch::kernels
