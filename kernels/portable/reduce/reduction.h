// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reductions whose result does not depend on the order of their elements (sum, amax, any, variance
// …). An operator is an accumulator. The driver orders the dimensions so that memory is read in
// order; it either runs along the reduced dimensions or updates a block of adjacent accumulators.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>

#include <algorithm>

namespace executorch::kernels::portable {

/// An accumulator compiled for one compute type. Elements are added to independent lanes, so that
/// the compiler vectorizes the loops; lanes are merged into totals. Pointers to lanes and totals
/// are arrays.
struct Accumulator {
  Compute input, output;
  int64_t lanes;       // side by side when all elements make one total
  int64_t width;       // totals that are computed side by side
  int64_t lane_limit;  // elements that a lane takes before it must go into its total
  void (*start)(char* totals, char* lanes, int64_t totals_count, int64_t lanes_count);
  /// Element i into lane i modulo `lanes`.
  void (*take)(char* lanes, const char* x, int64_t n);
  /// Element i of each of some rows, `step` bytes apart, into lane i; n is at most `width`.
  void (*take_rows)(char* lanes, const char* x, int64_t step, int64_t rows, int64_t n);
  /// Lane i into total i, or all into the total `only` unless that is negative; they start anew.
  void (*merge)(char* totals, char* lanes, int64_t n, int64_t only);
  /// Results to out, given how many elements each took and the operator's number.
  void (*finish)(const char* totals, char* out, int64_t n, int64_t count, double parameter);
};

/// Bytes of the totals, and of the lanes, that are computed at a time.
inline constexpr int64_t kTotalsBytes = 2048;

/// True for lanes with `take_run(const In*, n)`, which takes a whole run of elements.
template <class Lane, class = void>
inline constexpr bool takes_runs = false;
template <class Lane>
inline constexpr bool takes_runs<Lane, std::void_t<decltype(&Lane::take_run)>> = true;

/// Compiles A: a struct with the types `In` and `Out` (compute types), a default constructor for
/// the start, `merge(const Lane&)` and `Out result(int64_t count, double parameter) const`. Its
/// `Lane` has `take(In)` and `merge(const Lane&)`, and may have `take_run`. kLanes and kLaneLimit
/// are `lanes` and `lane_limit` of Accumulator.
template <class A>
struct Compiled {
  using In = typename A::In;
  using Out = typename A::Out;
  using Lane = typename A::Lane;
  static constexpr int64_t kLanes = A::kLanes;
  static constexpr int64_t kWidth =
      std::min(kBlock, kTotalsBytes / int64_t(std::max(sizeof(A), sizeof(Lane))));
  static_assert(kLanes <= kWidth, "raise kTotalsBytes");

  static void start(char* totals, char* lanes, int64_t totals_count, int64_t lanes_count) {
    std::fill_n(reinterpret_cast<A*>(totals), totals_count, A());
    std::fill_n(reinterpret_cast<Lane*>(lanes), lanes_count, Lane());
  }
  static void take(char* lanes, const char* x, int64_t n) {
    in_vectors([](char* to, const char* from, int64_t count) { take_run(to, from, count); }, lanes,
               x, n);
  }
  static void take_run(char* lanes, const char* x, int64_t n) {
    auto* const all = reinterpret_cast<Lane*>(lanes);
    if constexpr (takes_runs<Lane>) return all[0].take_run(reinterpret_cast<const In*>(x), n);
    // Treats the run as rows of kLanes elements. Local lanes can stay in registers meanwhile.
    Lane own[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) own[i] = all[i];
    for (; n >= kLanes; n -= kLanes, x += kLanes * sizeof(In)) {
      for (int64_t i = 0; i < kLanes; ++i) own[i].take(element<In>(x, i));
    }
    for (int64_t i = 0; i < kLanes; ++i) all[i] = own[i];
    take_rows_run(lanes, x, 0, 1, n);
  }
  static void take_rows(char* lanes, const char* x, int64_t step, int64_t rows, int64_t n) {
    in_vectors([](char* to, const char* from, int64_t between, int64_t count,
                  int64_t width) { take_rows_run(to, from, between, count, width); },
               lanes, x, step, rows, n);
  }
  static void take_rows_run(char* lanes, const char* x, int64_t step, int64_t rows, int64_t n) {
    auto* const all = reinterpret_cast<Lane*>(lanes);
    for (; rows >= 4; rows -= 4, x += 4 * step) {
      for (int64_t i = 0; i < n; ++i) {
        Lane lane = all[i];
        lane.take(element<In>(x, i));
        lane.take(element<In>(x + step, i));
        lane.take(element<In>(x + 2 * step, i));
        lane.take(element<In>(x + 3 * step, i));
        all[i] = lane;
      }
    }
    for (; rows > 0; --rows, x += step) {
      for (int64_t i = 0; i < n; ++i) all[i].take(element<In>(x, i));
    }
  }
  static void merge(char* totals, char* lanes, int64_t n, int64_t only) {
    auto* const total = reinterpret_cast<A*>(totals);
    auto* const all = reinterpret_cast<Lane*>(lanes);
    if (only >= 0) {
      fold(all, n);
      total[only].merge(all[0]);
    } else {
      for (int64_t i = 0; i < n; ++i) total[i].merge(all[i]);
    }
    std::fill_n(all, n, Lane());
  }
  // Merges all lanes into the first one by halving.
  static void fold(Lane* all, int64_t n) {
    if (n == kLanes) return fold_lanes<kLanes>(all);
    while (n > 1) {
      const int64_t half = (n + 1) / 2;
      for (int64_t i = 0; i + half < n; ++i) all[i].merge(all[i + half]);
      n = half;
    }
  }
  template <int64_t n>
  static void fold_lanes(Lane* all) {
    for (int64_t i = 0; i < n / 2; ++i) all[i].merge(all[i + n / 2]);
    if constexpr (n > 2) fold_lanes<n / 2>(all);
  }
  static void finish(const char* totals, char* out, int64_t n, int64_t count, double parameter) {
    for (int64_t i = 0; i < n; ++i) {
      reinterpret_cast<Out*>(out)[i] =
          reinterpret_cast<const A*>(totals)[i].result(count, parameter);
    }
  }
};

template <class A>
inline constexpr Accumulator kAccumulator{compute_type<typename A::In>,
                                          compute_type<typename A::Out>,
                                          A::kLanes,
                                          Compiled<A>::kWidth,
                                          A::kLaneLimit,
                                          Compiled<A>::start,
                                          Compiled<A>::take,
                                          Compiled<A>::take_rows,
                                          Compiled<A>::merge,
                                          Compiled<A>::finish};

/// The accumulator for a compute type, of a template over it; nullptr where this build leaves out
/// the dtypes that are computed in it.
template <template <class> class A>
const Accumulator* accumulator_for(Compute compute) {
  const Accumulator* accumulator = nullptr;
  const auto find = [&](auto tag) { accumulator = &kAccumulator<A<ET_TYPE_OF(tag)>>; };
  visit_compute<dtypes_of("portable/reduce/reductions.cpp")>(compute, find);
  return accumulator;
}

/// Sets the mask of the reduced dimensions; an empty list or none means all of them.
bool reduced_dims(KernelRuntimeContext& ctx, const Tensor& self,
                  std::optional<ArrayRef<int64_t>> dims, uint32_t* mask);

/// The shape that is left: reduced dimensions disappear, or stay with size 1.
Shape reduced_shape(const Tensor& self, uint32_t mask, bool keepdim);

/// Elements that each result is made of.
int64_t reduced_count(const Tensor& self, uint32_t mask);

/// self divided into kept and reduced dimensions, and out without the reduced ones.
struct Parts {
  Strided kept, reduced, out;

  Parts(const Tensor& self, uint32_t mask, bool keepdim, const Tensor& result)
      : kept(self), reduced(self), out(result) {
    const Strided whole(self);
    const Strided target(result);
    kept.rank = reduced.rank = out.rank = 0;
    int to = 0;
    for (int d = 0; d < whole.rank; ++d) {
      const bool is_reduced = (mask >> d & 1) != 0;
      (is_reduced ? reduced : kept).append(whole.sizes[d], whole.strides[d]);
      if (!is_reduced) out.append(target.sizes[to], target.strides[to]);
      if (!is_reduced || keepdim) ++to;
    }
  }
};

/// Resizes `out` and computes it: its dtype is converted to from the accumulator's output.
void reduce(KernelRuntimeContext& ctx, const Accumulator* accumulator, const Tensor& self,
            uint32_t mask, bool keepdim, Tensor& out, double parameter = 0);

}  // namespace executorch::kernels::portable
