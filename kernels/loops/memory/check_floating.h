// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The check of kernels that compute with floating dtypes only.
#pragma once

#include <executorch/kernels/loops/dtype/dtype.h>
#include <executorch/kernels/loops/memory/check.h>

namespace executorch::kernels {

/// The tensor, which messages call `name`, has a floating dtype.
inline bool expect_floating(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, is_floating(tensor.scalar_type()), "%s must be floating point, found %s",
                   name, name_of(tensor.scalar_type()));
}

}  // namespace executorch::kernels
