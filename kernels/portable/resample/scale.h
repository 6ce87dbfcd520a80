// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Where the pixels of a resized image come from.
#pragma once

#include <executorch/kernels/portable/spatial/plane.h>

namespace executorch::kernels::portable {

/// How an operator names the result's size: as such, or by factors. Both as ATen passes them.
struct ResizeArguments {
  std::optional<ArrayRef<int64_t>> output_size;  ///< spatial sizes
  /// One factor a spatial dimension, if given: as input to the size (the .vec overloads) or beside
  /// it.
  std::optional<double> scales[kSpatial];
};

/// One spatial dimension: output q stands at input coordinate (q + offset) * ratio - offset, where
/// offset is 0.5 for pixel centres and 0 for aligned corners.
struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double ratio = 1;

  /// Sets `ratio`: with aligned corners the ends meet; else the inverse of a given factor, or the
  /// quotient of the sizes.
  void set_ratio(bool align_corners, std::optional<double> scale);
};

/// The factors of a `.vec` overload and the sizes they mean: exactly one of the two lists is given.
bool vec_arguments(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                   const std::optional<ArrayRef<int64_t>>& output_size,
                   const std::optional<ArrayRef<double>>& scale_factors, int64_t* sizes,
                   ResizeArguments* arguments);

/// Checks dtype, rank and sizes, resizes `out` and fills three axes; else fails the context.
bool prepare_resize(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                    const ResizeArguments& arguments, bool align_corners, Tensor& out,
                    ResizeAxis* axes);

}  // namespace executorch::kernels::portable
