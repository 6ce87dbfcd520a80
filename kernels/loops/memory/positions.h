// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads indices from tensors. They are untrusted.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/check.h>

namespace executorch::kernels {

/// Reads an index with a single load. Index memory may change while a kernel runs: another thread
/// may write to the caller's memory, and the kernel's own writes may alias planned memory. Since
/// the kernel must use the value that it checked, the compiler must not load it again.
template <class T>
int64_t load_index(const T* from) {
  return *static_cast<const volatile T*>(from);
}

/// An index is within [0, size). Check a loaded index immediately before its use.
inline bool expect_within(KernelRuntimeContext& ctx, int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size) ||
         refuse(ctx, "index %" PRId64 " is outside of a dimension of size %" PRId64, index, size);
}

}  // namespace executorch::kernels
