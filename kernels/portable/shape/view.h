// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Views of a tensor's memory. Each function checks its arguments; if they are wrong, it fails the
// context and returns nullopt. Operators copy from the view (view_copy.cpp), their scatter forms
// copy to it.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels::portable {

/// Index `index` of dimension `dim`, which disappears.
std::optional<Strided> selected(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                int64_t index);

/// Every step-th index from start to end (exclusive), both clipped to the dimension as Python's
/// slices are.
std::optional<Strided> sliced(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                              std::optional<int64_t> start, std::optional<int64_t> end,
                              int64_t step);

/// The diagonal of dim1 and dim2, `offset` above the main one; it becomes the last dimension.
std::optional<Strided> diagonal(KernelRuntimeContext& ctx, const Tensor& self, int64_t offset,
                                int64_t dim1, int64_t dim2);

/// A view with these sizes and strides (in elements); all elements must be in self's memory.
std::optional<Strided> restrided(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> size, ArrayRef<int64_t> stride,
                                 std::optional<int64_t> storage_offset);

/// Resizes `out` to the view's sizes and copies it there.
Tensor& copy_view(KernelRuntimeContext& ctx, const std::optional<Strided>& view, Tensor& out);

/// The sizes of a view.
Shape shape_of(const Strided& view);

}  // namespace executorch::kernels::portable
