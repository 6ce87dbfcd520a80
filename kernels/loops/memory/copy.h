// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copying between two memories of one shape, whatever their strides and dtypes.
#pragma once

#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels {

/// Copies `from` to `to`, which have the same sizes and do not overlap; converts the dtype where it
/// differs. Fails the context only for a dtype that no kernel can hold.
bool copy(KernelRuntimeContext& ctx, const Strided& to, const Strided& from);

/// Writes one value to all of `to`, converted to its dtype as torch.Tensor.fill_ does.
bool fill(KernelRuntimeContext& ctx, const Strided& to, const Scalar& value);

}  // namespace executorch::kernels
