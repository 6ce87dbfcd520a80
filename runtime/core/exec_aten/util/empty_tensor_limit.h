// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

namespace executorch::runtime {

/// The largest product of an empty tensor's sizes, with 1 in place of 0. A size times its stride
/// then fits 64 bits, in bytes of any dtype: kernels compute it for empty tensors too.
constexpr int64_t kEmptyTensorLimit = INT64_MAX / 16;

}  // namespace executorch::runtime
