// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How far what a method has returned is from what a test case expects.
#pragma once

#include <stddef.h>

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/runtime/core/evalue.h>

namespace executorch::bundled_program {

struct Tolerances {
  double relative = 1e-5;
  double absolute = 1e-8;
};

/// Of all numbers compared; a complex one counts as two.
struct OutputError {
  size_t count = 0;
  /// Those further than `absolute` + `relative` * |expected| from what is expected.
  size_t beyond = 0;
  /// |found - expected|: 0 for two NaNs, infinite for one.
  double sum_absolute = 0;
  double max_absolute = 0;
  /// |found - expected| / |expected|, where 0 is not expected.
  size_t relative_count = 0;
  double sum_relative = 0;
  double max_relative = 0;
};

/// Adds the numbers of one output to `error`; the tensor may have another dim order than the
/// expected one.
/// @retval Error::InvalidType The output is of another type or dtype than expected; InvalidArgument
///     its sizes are others; NotSupported there is no arithmetic of its dtype. The log says what
///     was expected and found.
[[nodiscard]] runtime::Error compare_output(const runtime::EValue& found, const CaseValue& expected,
                                            const Tolerances& tolerances, OutputError* error);

}  // namespace executorch::bundled_program
