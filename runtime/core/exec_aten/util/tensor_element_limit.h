// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

namespace executorch::runtime {

/// The most elements of a tensor; sizes of 0 count as 1. A size times its stride then fits 64 bits,
/// in bytes of any dtype: kernels compute it also for empty tensors.
constexpr int64_t kTensorElementLimit = INT64_MAX / 16;

}  // namespace executorch::runtime
