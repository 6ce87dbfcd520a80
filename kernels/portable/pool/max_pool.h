// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Max pooling with a function for float32 as an argument: the portable library registers it without
// one, the optimized library with one.
#pragma once

#include <executorch/kernels/portable/pool/geometry.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <tuple>

namespace executorch::kernels::portable {

/// Max pooling of checked arguments: the images, their maxima and the places of these, and the
/// windows.
struct MaxPooling {
  const Images &from, &to, &places;
  const WindowLoops& loops;
};

/// Computes the maxima of float32 images. Returns false, without writing, for calls that the
/// portable loops must compute.
using FloatMaxPooling = bool (*)(const MaxPooling& pooling);

/// aten::max_pool2d_with_indices and its form for three dimensions, of any dtype but bool and dim
/// order. fast: null for none. Fails the context with InvalidArgument on arguments that do not fit
/// together.
std::tuple<Tensor&, Tensor&> max_pool(KernelRuntimeContext& ctx, FloatMaxPooling fast,
                                      const Tensor& self, int spatial,
                                      const PoolArguments& arguments, Tensor& out, Tensor& indices);

}  // namespace executorch::kernels::portable
