// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

namespace executorch::runtime {

/// The largest rank of a tensor.
constexpr size_t kTensorDimensionLimit = 16;

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::kTensorDimensionLimit;
}  // namespace torch::executor
