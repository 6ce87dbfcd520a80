// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Normalization over regions of a tensor: what layer, group and batch norm have in common.
#pragma once

#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/strided.h>

namespace executorch::kernels::portable {

/// out = (in - mean) * rstd * weight + bias, mean and rstd = 1 / sqrt(variance + eps) over a
/// region. All memories but the statistics have the same sizes; dimensions in `kept` are one region
/// an index (regions counted row-major), the others lie within a region.
struct Normalization {
  Strided out, in;
  Strided weight, bias;  ///< expanded to the sizes of `in`; null data: none
  uint32_t kept = 0;     ///< a mask, bit d for dimension d
  double eps = 0;
  // One value a region, of any floating dtype, dense; null data: not wanted.
  Strided mean;      ///< is given
  Strided rstd;      ///< is given
  Strided variance;  ///< is given: the population's
};

/// Computes everything in float32 or, for float64 input, float64. Floating dtypes only. A region
/// without elements has mean and rstd NaN.
void normalize_regions(const Normalization& n);

/// The dtype is floating, with the name of the argument in the message.
bool expect_floating(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);

/// A one-dimensional tensor along dimension `dim` of memory of the sizes of `like`; null data for
/// no tensor.
Strided along(const std::optional<Tensor>& tensor, const Strided& like, int dim);

}  // namespace executorch::kernels::portable
