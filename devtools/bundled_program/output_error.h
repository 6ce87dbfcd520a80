// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Difference between a method's outputs and a test case's expected outputs.
#pragma once

#include <stddef.h>

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/runtime/core/evalue.h>

namespace executorch::bundled_program {

struct Tolerances {
  double relative = 1e-5;
  double absolute = 1e-8;
};

/// Error over all compared numbers; a complex element counts as two.
struct OutputError {
  size_t count = 0;
  /// Numbers with |found - expected| > `absolute` + `relative` * |expected|.
  size_t beyond = 0;
  /// Sum and maximum of |found - expected|: 0 for two NaNs, infinite if only one is NaN.
  double sum_absolute = 0;
  double max_absolute = 0;
  /// Number, sum and maximum of |found - expected| / |expected| over nonzero expected numbers.
  size_t relative_count = 0;
  double sum_relative = 0;
  double max_relative = 0;
};

/// Adds the numbers of one output to `error`. The dim orders of the two tensors may differ.
/// @retval Error::InvalidType Type or dtype differ from the expected output; InvalidArgument sizes
///     differ; NotSupported the dtype lacks arithmetic. The log names expected and found.
[[nodiscard]] runtime::Error compare_output(const runtime::EValue& output,
                                            const CaseValue& expected, const Tolerances& tolerances,
                                            OutputError* error);

}  // namespace executorch::bundled_program
