// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Steps that follow each other, each divided among threads, without starting the threads for each.
#pragma once

#include <atomic>
#include <cstdint>

namespace executorch::kernels {

/// Every available thread calls work() and claims parts. Nobody waits for a thread that starts late
/// or never, except for the part that it has claimed.
class Team {
 public:
  static constexpr int32_t kMaxParts = 32;

  /// parts: at most kMaxParts.
  Team(int32_t steps, int32_t parts) : steps_(steps), parts_(parts) {}

  int32_t parts() const { return parts_; }

  /// Calls part(step, index) for each part of a step, then finish(step), then goes on to the next.
  /// `own` is the part that this thread prefers: the same in every step, for its cache.
  template <class Part, class Finish>
  void work(int32_t own, Part&& part, Finish&& finish) {
    for (int32_t step; (step = step_.load(std::memory_order_acquire)) < steps_;) {
      for (int32_t i = 0; i < parts_; ++i) {
        const int32_t index = (own + i) % parts_;
        if (!take(index, step)) continue;
        part(step, index);
        if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == (step + 1) * parts_) {
          finish(step);
          step_.store(step + 1, std::memory_order_release);
        }
        break;
      }
    }
  }

 private:
  /// Claims a part of the step; false if another thread has claimed it.
  bool take(int32_t index, int32_t step) {
    int32_t next = step;
    return next_[index].compare_exchange_strong(next, step + 1, std::memory_order_acq_rel);
  }

  const int32_t steps_, parts_;
  std::atomic<int32_t> step_{0};               ///< all before it are finished
  std::atomic<int32_t> done_{0};               ///< parts of all steps
  std::atomic<int32_t> next_[kMaxParts] = {};  ///< for each part, the next step to take
};

}  // namespace executorch::kernels
