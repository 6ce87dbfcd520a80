// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels from another source than the registry. Only ATen mode has one: torch's dispatcher.
#pragma once

#include <executorch/runtime/kernel/operator_registry.h>

#ifdef USE_ATEN_LIB
namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Fallback of find_kernel() for unregistered names, called from any thread. Returns nullptr for an
/// unknown name. The result must outlive the program.
using KernelSource = const Kernel* (*)(const char* name);
void set_kernel_source(KernelSource source);

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
#endif
