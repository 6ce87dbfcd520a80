// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A call's scales and zero points, read once into an array that loops walk along with the elements.
#pragma once

#include <executorch/kernels/quantized/affine/affine.h>

#include <optional>

namespace executorch::kernels::quantized {

/// Direction of the conversion: numbers are multiplied by 1 / scale, integers by scale.
enum class Towards : uint8_t { Integers, Numbers };

/// Reads scales and zero points from tensors, one for each element of `scales`, in its order.
/// Without `zero_points` they are 0. Returns nullptr after failing the context.
Parameters* read_parameters(KernelRuntimeContext& ctx, const Tensor& scales,
                            const Tensor* zero_points, Towards towards,
                            ParameterPlaces& parameters);

/// Checks that `tensor` (called `name` in messages) has `dtype`, which contains `quant_min` and
/// `quant_max`.
bool expect_integers(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                     ScalarType dtype, int64_t quant_min, int64_t quant_max);
/// Checks that the tensor has a floating dtype.
bool expect_floating(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);

}  // namespace executorch::kernels::quantized
