// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/prim_ops/prim_kernels.h>

namespace executorch::kernels::prim_ops {

// For hosts that register without global constructors.
extern const Span<const Kernel> kernels;
const Span<const Kernel> kernels(kKernels);

// Linking the library's target requires this symbol, and so this object file.
extern "C" {
extern const int executorch_link_prim_ops;
const int executorch_link_prim_ops = 0;
}

#ifndef EXECUTORCH_NO_STATIC_REGISTRATION
namespace {
[[maybe_unused]] const runtime::Error registered = runtime::register_kernel_table(kKernels);
}  // namespace
#endif

}  // namespace executorch::kernels::prim_ops
