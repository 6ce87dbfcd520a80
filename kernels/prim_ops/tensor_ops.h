// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that read a tensor's sizes or its only element, or make a tensor a view of another.
#pragma once

#include <stdint.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/boxing.h>

namespace executorch::kernels::prim_ops {

/// (Tensor self, int dim) -> int
void sym_size(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> args);
runtime::Error check_sym_size(runtime::Span<runtime::EValue* const> args);

/// (Tensor self) -> int
void sym_numel(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> args);
runtime::Error check_sym_numel(runtime::Span<runtime::EValue* const> args);

/// (Tensor self, int dim) -> int: the dimension's stride in elements.
void sym_stride(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> args);

/// (Tensor self) -> int: 0, because every tensor begins at the start of its memory.
void sym_storage_offset(runtime::KernelRuntimeContext& context,
                        runtime::Span<runtime::EValue*> args);

/// (Tensor self) -> Scalar: the only element of a tensor, `item()` in Python.
void local_scalar_dense(runtime::KernelRuntimeContext& context,
                        runtime::Span<runtime::EValue*> args);
runtime::Error check_local_scalar_dense(runtime::Span<runtime::EValue* const> args);

/// self[index] = from; a resizable self grows to index + 1 in its first dimension. A map collects
/// its results by this operator.
void et_copy_index(runtime::KernelRuntimeContext& context, aten::Tensor& self,
                   const aten::Tensor& from, int64_t index);

/// Makes `out` a view of self's memory with these sizes; one of them may be -1 and is then
/// inferred.
aten::Tensor& et_view(runtime::KernelRuntimeContext& context, const aten::Tensor& self,
                      aten::ArrayRef<int64_t> size, aten::Tensor& out);

}  // namespace executorch::kernels::prim_ops
