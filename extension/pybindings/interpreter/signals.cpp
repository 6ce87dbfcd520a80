// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/interpreter/signals.h>
#include <time.h>

namespace executorch::extension::pybindings {
namespace {

/// Maximum number of checks between two readings of the clock.
constexpr unsigned kMaxSkipped = 255;
/// Longer than a tick of the coarse clock.
constexpr int64_t kLongMilliseconds = 10;

int64_t milliseconds_now() {
#ifdef CLOCK_MONOTONIC_COARSE
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec now{};
  clock_gettime(kClock, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

}  // namespace

bool SignalCheck::interrupts() {
  if (skipped_ < to_skip_) {
    ++skipped_;
    return false;
  }
  skipped_ = 0;
  const int64_t now = milliseconds_now();
  if (read_at_ == 0) {
    checked_at_ = now;
  } else if (now == read_at_) {
    to_skip_ = to_skip_ < kMaxSkipped ? 2 * to_skip_ + 1 : kMaxSkipped;
  } else if (now - read_at_ > kLongMilliseconds) {
    to_skip_ /= 4;
  }
  read_at_ = now;
  if (now - checked_at_ < kSignalPeriod.count()) {
    return false;
  }
  checked_at_ = now;
  return released_.with_gil([] { return PyErr_CheckSignals() != 0; });
}

}  // namespace executorch::extension::pybindings
