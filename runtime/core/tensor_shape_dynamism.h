// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

namespace executorch::runtime {

/// How a tensor's sizes may change after its creation.
enum class TensorShapeDynamism : uint8_t {
  /// Never.
  STATIC = 0,
  /// Up to the number of elements it was created with.
  DYNAMIC_BOUND = 1,
  /// Without a bound known at export; available memory is the limit.
  DYNAMIC_UNBOUND = 2,
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::TensorShapeDynamism;
}  // namespace torch::executor
