// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The arguments of pooling with a fixed window, and the loops they mean.
#pragma once

#include <executorch/kernels/portable/spatial/plane.h>

namespace executorch::kernels::portable {

/// What pooling operators are given; an empty stride is the kernel size.
struct PoolArguments {
  ArrayRef<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode;
};

/// Checks the arguments and fills `loops`; else fails the context. With `ceil_mode` a last window
/// may hang over the end, if it starts inside of input or left padding.
bool pool_loops(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                const PoolArguments& arguments, WindowLoops* loops);

/// The shape of the result.
Shape pool_shape(const Tensor& self, int spatial, const WindowLoops& loops);

}  // namespace executorch::kernels::portable
