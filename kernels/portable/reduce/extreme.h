// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The largest or smallest of a run of elements, as torch orders them: NaN is better than all.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace executorch::kernels::portable {

/// The neutral element of `better`.
template <bool kLargest, class C>
constexpr C worst() {
  using Limits = std::numeric_limits<C>;
  if constexpr (std::is_integral_v<C>) {
    return kLargest ? Limits::min() : Limits::max();
  } else {
    return kLargest ? -Limits::infinity() : Limits::infinity();
  }
}

/// The better of two numbers; y if either is NaN.
template <bool kLargest, class C>
C better(C x, C y) {
  return (kLargest ? x > y : x < y) ? x : y;
}

/// The best of n lanes by halving; n is a power of two.
template <bool kLargest, int64_t n, class C>
C best_lane(C* lanes) {
  if constexpr (n == 1) {
    return lanes[0];
  } else {
    for (int64_t i = 0; i < n / 2; ++i) lanes[i] = better<kLargest>(lanes[i + n / 2], lanes[i]);
    return best_lane<kLargest, n / 2>(lanes);
  }
}

/// The best of n elements.
template <bool kLargest, class C>
C best_of(const C* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  using Flag = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;  // one a lane, for vectors
  C best = worst<kLargest, C>();
  bool holds_nan = false;
  int64_t i = 0;
  if (n >= 4 * kLanes) {
    C even[kLanes], odd[kLanes];
    Flag unordered[kLanes] = {};
    for (int64_t lane = 0; lane < kLanes; ++lane) even[lane] = odd[lane] = best;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const C a = x[i + lane], b = x[i + kLanes + lane];
        even[lane] = better<kLargest>(a, even[lane]);
        odd[lane] = better<kLargest>(b, odd[lane]);
        if constexpr (std::is_floating_point_v<C>) unordered[lane] |= std::isunordered(a, b);
      }
    }
    Flag any = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      even[lane] = better<kLargest>(odd[lane], even[lane]);
      any |= unordered[lane];
    }
    best = best_lane<kLargest, kLanes>(even);
    holds_nan = any != 0;
  }
  for (; i < n; ++i) {
    best = better<kLargest>(x[i], best);
    holds_nan |= x[i] != x[i];
  }
  return holds_nan ? std::numeric_limits<C>::quiet_NaN() : best;
}

}  // namespace executorch::kernels::portable
