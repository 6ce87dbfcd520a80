// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Lists of kernels, which may be used instead of the registry.
#pragma once

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// The list's kernel of that name for these tensors, specialized ones first; null if there is none.
const Kernel* find_in_list(const char* name, Span<const TensorMeta> meta_list,
                           Span<const Kernel> kernel_list);

/// Returns true if some kernel of the list is specialized for dtypes and dim orders.
bool have_keys(Span<const Kernel> kernels);
/// The same for all registered kernels.
bool registered_kernels_have_keys();

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
