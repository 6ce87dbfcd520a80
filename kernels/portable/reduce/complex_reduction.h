// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reductions and running totals of complex numbers.
#pragma once

#include <executorch/kernels/loops/memory/check.h>

namespace executorch::kernels::portable {

enum class Fold : uint8_t { Sum, Mean, Product, Variance, Deviation };

/// Resizes `out` and computes it. `out` must be complex for sums, means and products, real for the
/// others. `correction`: of Variance and Deviation, which are those of the real and the imaginary
/// parts added up.
void reduce_complex(KernelRuntimeContext& ctx, Fold fold, const Tensor& self, uint32_t mask,
                    bool keepdim, Tensor& out, double correction = 0);

enum class Running : uint8_t { Sum, Product };

/// Running sums or products along `dim`, which is normalized. `out` is complex.
void scan_complex(KernelRuntimeContext& ctx, Running kind, const Tensor& self, int dim,
                  Tensor& out);

}  // namespace executorch::kernels::portable
