// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reductions whose result does not depend on the order of their elements (sum, amax, any, variance
// …). An operator is an accumulator; the driver takes the dimensions apart so that memory is read
// in order, and either runs along what is reduced or keeps a block of accumulators going side by
// side.
#pragma once

#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/strided.h>

namespace executorch::kernels::portable {

/// An accumulator compiled for one compute type. All pointers to accumulators point to arrays of
/// them.
struct Accumulator {
  int64_t bytes;
  Compute input, output;
  void (*start)(char* accumulators, int64_t n);
  /// All n elements into the first accumulator.
  void (*take_run)(char* accumulator, const char* x, int64_t n);
  /// Element i into accumulator i.
  void (*take_each)(char* accumulators, const char* x, int64_t n);
  /// Results to out, given how many elements each took and the operator's number.
  void (*finish)(const char* accumulators, char* out, int64_t n, int64_t count, double parameter);
};

/// Accumulators that a block keeps going side by side, and the most bytes that one may have.
inline constexpr int64_t kAccumulators = 64, kAccumulatorBytes = 32;

/// Compiles A: a struct with the types `In` and `Out` (compute types), a default constructor for
/// the start, `take(In)`, `merge(const A&)` and `Out result(int64_t count, double parameter)
/// const`.
template <class A>
struct Compiled {
  static_assert(sizeof(A) <= size_t(kAccumulatorBytes), "raise kAccumulatorBytes");
  using In = typename A::In;
  using Out = typename A::Out;

  static void start(char* accumulators, int64_t n) {
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<A*>(accumulators)[i] = A();
  }
  static void take_run(char* accumulator, const char* x, int64_t n) {
    constexpr int64_t kLanes = 8;  // Independent chains, for the vectorizer.
    const auto* const in = reinterpret_cast<const In*>(x);
    A lanes[kLanes];
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane].take(in[i + lane]);
    }
    for (; i < n; ++i) lanes[0].take(in[i]);
    A& total = *reinterpret_cast<A*>(accumulator);
    for (const A& lane : lanes) total.merge(lane);
  }
  static void take_each(char* accumulators, const char* x, int64_t n) {
    const auto* const in = reinterpret_cast<const In*>(x);
    auto* const all = reinterpret_cast<A*>(accumulators);
    for (int64_t i = 0; i < n; ++i) all[i].take(in[i]);
  }
  static void finish(const char* accumulators, char* out, int64_t n, int64_t count,
                     double parameter) {
    for (int64_t i = 0; i < n; ++i) {
      reinterpret_cast<Out*>(out)[i] =
          reinterpret_cast<const A*>(accumulators)[i].result(count, parameter);
    }
  }
};

template <class A>
inline constexpr Accumulator kAccumulator{
    int64_t(sizeof(A)), compute_type<typename A::In>, compute_type<typename A::Out>,
    Compiled<A>::start, Compiled<A>::take_run,        Compiled<A>::take_each,
    Compiled<A>::finish};

/// The accumulator for a compute type, of a template over it.
template <template <class> class A>
const Accumulator& accumulator_for(Compute compute) {
  return compute == Compute::Float    ? kAccumulator<A<float>>
         : compute == Compute::Double ? kAccumulator<A<double>>
                                      : kAccumulator<A<int64_t>>;
}

/// Which dimensions go, as a mask; an empty list or none means all of them.
bool reduced_dims(KernelRuntimeContext& ctx, const Tensor& self,
                  std::optional<ArrayRef<int64_t>> dims, uint32_t* mask);

/// The shape that is left: reduced dimensions disappear, or stay with size 1.
Shape reduced_shape(const Tensor& self, uint32_t mask, bool keepdim);

/// Elements that each result is made of.
int64_t reduced_count(const Tensor& self, uint32_t mask);

/// Resizes `out` and computes it: its dtype is converted to from the accumulator's output.
void reduce(KernelRuntimeContext& ctx, const Accumulator& accumulator, const Tensor& self,
            uint32_t mask, bool keepdim, Tensor& out, double parameter = 0);

}  // namespace executorch::kernels::portable
