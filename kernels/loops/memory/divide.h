// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Divides loops among threads. A part begins only where the undivided loop would begin another
// block, so that results have the same bits for any number of threads. A build for size does not
// divide loops.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/runtime/kernel/parallel.h>

#include <algorithm>

namespace executorch::kernels {

#ifdef __OPTIMIZE_SIZE__
inline constexpr bool kDivides = false;
#else
inline constexpr bool kDivides = true;
#endif

/// Elements that justify another thread if each is moved or takes a few instructions: about 5 us
/// with AVX-512. Between the kernels of a model a pool's threads spin, and dividing costs about 2
/// us (hardswish of 200,704 elements in MobileNetV3: 15.5 us on one thread, 9.6 us on two). Threads
/// that sleep take 10 us or more to begin.
inline constexpr int64_t kMinElements = 1 << 16;

/// A range of `count` items, divided into parts that begin at multiples of `step`.
class Division {
 public:
  /// `work` is the cost of the whole range, `min_work` the minimum cost of a part, in the same
  /// unit.
  Division(int64_t count, int64_t step, int64_t work, int64_t min_work = kMinElements)
      : count_(count), step_(step) {
    if (!kDivides || work < 2 * min_work) return;
    steps_ = (count + step - 1) / step;
    limit(int64_t(runtime::parallel_parts(size_t(work), size_t(min_work))));
  }

  int64_t parts() const { return parts_; }
  /// Limits the number of parts.
  void limit(int64_t parts) {
    parts_ = std::clamp<int64_t>(parts, 1, std::max<int64_t>(steps_, 1));
  }
  int64_t begin(int64_t part) const { return std::min(count_, steps_ * part / parts_ * step_); }

  /// Calls f(part, begin, end) for each, on several threads if there are several parts.
  template <class F>
  void run(F&& f) const {
    if (!kDivides || parts_ == 1) return f(int64_t(0), int64_t(0), count_);
    runtime::run_parallel(
        [&](size_t part) { f(int64_t(part), begin(int64_t(part)), begin(int64_t(part) + 1)); },
        size_t(parts_));
  }

 private:
  int64_t count_, step_;
  int64_t steps_ = 1, parts_ = 1;
};

/// The loops of a nest, divided along one of its dimensions; rows at multiples of `step`.
class NestDivision {
 public:
  NestDivision(const LoopNest& nest, int64_t step, int64_t work, int64_t min_work = kMinElements)
      : nest_(nest), dim_(0), division_(nest.size(0), step_of(0, step), work, min_work) {
    // The outermost dimension that suffices, so that each part walks memory of its own.
    for (int d = 1; d < nest.rank() && wants_more(work, min_work); ++d) {
      const Division other(nest.size(d), step_of(d, step), work, min_work);
      if (other.parts() <= division_.parts()) continue;
      dim_ = d;
      division_ = other;
    }
  }

  int64_t parts() const { return division_.parts(); }
  void limit(int64_t parts) { division_.limit(parts); }

  /// Calls f(part, nest) with each part's loops.
  template <class F>
  void run(F&& f) const {
    if (!kDivides || parts() == 1) return f(int64_t(0), nest_);
    division_.run([&](int64_t part, int64_t begin, int64_t end) {
      f(part, static_cast<const LoopNest&>(nest_.part(dim_, begin, end)));
    });
  }

 private:
  int64_t step_of(int d, int64_t step) const { return d == nest_.rank() - 1 ? step : 1; }
  bool wants_more(int64_t work, int64_t min_work) const {
    return kDivides && work >= 2 * min_work &&
           division_.parts() < int64_t(runtime::parallel_parts(size_t(work), size_t(min_work)));
  }

  const LoopNest& nest_;
  int dim_;
  Division division_;
};

}  // namespace executorch::kernels
