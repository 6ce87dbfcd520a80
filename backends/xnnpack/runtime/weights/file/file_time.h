// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Times of files as numbers.
#pragma once

#include <stdint.h>
#include <time.h>

namespace executorch::backends::xnnpack {

/// Nanoseconds since 1970.
inline int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace executorch::backends::xnnpack
