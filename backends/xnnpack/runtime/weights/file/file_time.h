// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Times of files as numbers.
#pragma once

#include <stdint.h>
#include <time.h>

#include <executorch/runtime/core/overflow.h>

namespace executorch::backends::xnnpack {

/// Nanoseconds since 1970; the nearest that int64_t holds for a time before 1678 or after 2262.
inline int64_t nanoseconds(const timespec& time) {
  int64_t result = 0;
  if (runtime::mul_overflows(int64_t{time.tv_sec}, int64_t{1'000'000'000}, &result) ||
      runtime::add_overflows(result, int64_t{time.tv_nsec}, &result)) {
    return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  }
  return result;
}

/// False if another change, from now on, could have the same time as the last one.
inline bool is_settled(const timespec& changed, const timespec& now) {
  // File systems take the time from a clock that ticks 100 times a second or more often. Some keep
  // whole seconds, or every second one.
  const int64_t tick = changed.tv_nsec == 0 ? 2'000'000'000 : 20'000'000;
  return nanoseconds(changed) <= nanoseconds(now) - tick;
}

}  // namespace executorch::backends::xnnpack
