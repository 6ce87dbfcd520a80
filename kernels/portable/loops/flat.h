// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The short way through an elementwise operator: operands that lie in memory as the mathematics
// wants them. Nothing is promoted, inferred, resized or converted, so that a small tensor costs
// little more than its mathematics.
#pragma once

#include <executorch/kernels/portable/loops/elementwise.h>

namespace executorch::kernels::portable {

/// Computes `out` if
///   - all tensors have one dtype, which is its own compute type, and out that of the result;
///   - out has its sizes already, as some input of the same strides has;
///   - every other input is of the same layout too, or repeats for each of out's innermost rows (a
///     bias), or is one number that does not change the dtype.
/// Returns false, having done nothing, where the general way (elementwise.cpp) must be taken: it
/// gives the same results, and tells what is refused.
bool run_flat(const Elementwise& operation, const Argument* inputs, Tensor& out,
              const Parameters& parameters);

}  // namespace executorch::kernels::portable
