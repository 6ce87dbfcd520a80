// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reductions to a number: sums, products, extremes, truth, spread. An operator is an accumulator;
// reduction.cpp runs it.
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/reduce/complex_reduction.h>
#include <executorch/kernels/portable/reduce/extreme.h>
#include <executorch/kernels/portable/reduce/reduction.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

/// Integers add and multiply modulo 2^64; floating point is summed in double, whatever its width.
template <class C>
using Wide = std::conditional_t<std::is_integral_v<C>, int64_t, double>;

/// An accumulator without a limit on the number of elements.
template <class Self, int64_t lanes = 32>
struct Unlimited {
  using Lane = Self;
  static constexpr int64_t kLanes = lanes, kLaneLimit = int64_t(1) << 40;
};

/// Floats add up as such for a while, which is faster, before they go into a double.
template <class C>
struct PartialSum {
  C total = 0;
  void take(C x) { total = plus(total, x); }
  void merge(const PartialSum& other) { total = plus(total, other.total); }
};

template <class C>
struct Sum {
  using In = C;
  using Out = Wide<C>;
  using Lane = PartialSum<C>;
  static constexpr int64_t kLanes = 128 / sizeof(C), kLaneLimit = 256;
  Out total = 0;
  void merge(const Lane& lane) { total = plus<Out>(total, lane.total); }
  Out result(int64_t, double) const { return total; }
};

template <class C>
struct Mean : Sum<C> {
  using Out = double;
  double result(int64_t count, double) const {
    return static_cast<double>(this->total) / static_cast<double>(count);
  }
};

template <class C>
struct Product : Unlimited<Product<C>, 16> {
  using In = C;
  using Out = Wide<C>;
  Out total = 1;
  void take(C x) { total = times<Out>(total, x); }
  void merge(const Product& other) { total = times(total, other.total); }
  Out result(int64_t, double) const { return total; }
};

/// NaN wins over every number, as in torch: nothing compares greater than it.
template <bool kLargest, class C>
struct Extreme : Unlimited<Extreme<kLargest, C>, 1> {
  using In = C;
  using Out = C;
  C value = worst<kLargest, C>();
  void take(C x) { value = (x != x) | (kLargest ? x > value : x < value) ? x : value; }
  void take_run(const C* x, int64_t n) { take(best_of<kLargest>(x, n)); }
  void merge(const Extreme& other) { take(other.value); }
  C result(int64_t, double) const { return value; }
};
template <class C>
using Largest = Extreme<true, C>;
template <class C>
using Smallest = Extreme<false, C>;

/// True if any element is kWanted: any() for true, the negation of all() for false.
template <bool kWanted>
struct Truth : Unlimited<Truth<kWanted>, 1> {
  using In = bool;
  using Out = bool;
  bool seen = false;
  void take(bool x) { seen = static_cast<bool>(seen | (x == kWanted)); }
  void take_run(const bool* x, int64_t n) {
    constexpr int64_t kRun = 1024;  // elements between two checks for an early exit
    // Memory of a bool tensor may hold any byte, which C++ does not allow in a bool.
    const auto* const bytes = reinterpret_cast<const uint8_t*>(x);
    for (int64_t first = 0; first < n && !seen; first += kRun) {
      const int64_t last = std::min(n, first + kRun);
      uint8_t any = 0;
      for (int64_t i = first; i < last; ++i)
        any |= static_cast<uint8_t>((bytes[i] != 0) == kWanted);
      seen = any != 0;
    }
  }
  void merge(const Truth& other) { seen = static_cast<bool>(seen | other.seen); }
  bool result(int64_t, double) const { return seen == kWanted; }
};
using AnyTrue = Truth<true>;
using AllTrue = Truth<false>;

/// Sums of differences from the first element, which keep their digits where the mean is far from
/// zero.
template <class C>
struct Variance {
  using In = C;
  using Out = double;
  using Lane = Variance;
  static constexpr int64_t kLanes = 8, kLaneLimit = int64_t(1) << 40;
  double shift = 0, sum = 0, squares = 0;
  int64_t count = 0;
  void take(C x) {
    if (count == 0) shift = x;
    const double difference = x - shift;
    sum += difference;
    squares += difference * difference;
    ++count;
  }
  void merge(const Variance& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double n = static_cast<double>(count), m = static_cast<double>(other.count);
    const double gap = other.mean() - mean();
    squares = spread() + other.spread() + gap * gap * n * m / (n + m);
    shift = mean() + gap * m / (n + m);
    sum = 0;
    count += other.count;
  }
  double mean() const { return shift + sum / static_cast<double>(count); }
  double spread() const { return squares - sum * sum / static_cast<double>(count); }
  double result(int64_t n, double correction) const {
    const double freedom = static_cast<double>(n) - correction;
    const double squared = n > 0 ? spread() : std::numeric_limits<double>::quiet_NaN();
    return (squared > 0 ? squared : squared * 0) / (freedom > 0 ? freedom : 0);
  }
};
template <class C>
struct Deviation : Variance<C> {
  double result(int64_t n, double correction) const {
    return std::sqrt(Variance<C>::result(n, correction));
  }
};

/// True if either tensor is complex and this build supports complex numbers.
bool is_complex_call(const Tensor& self, const Tensor& out) {
  return has_complex && (is_complex(self.scalar_type()) || is_complex(out.scalar_type()));
}

template <template <class> class A>
Tensor& sum_like(KernelRuntimeContext& ctx, Fold fold, const Tensor& self, uint32_t mask,
                 bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  if (dtype.has_value() && !expect_dtype(ctx, "out", out, *dtype)) return out;
  if (is_complex_call(self, out)) {
    reduce_complex(ctx, fold, self, mask, keepdim, out);
    return out;
  }
  const ScalarType result = out.scalar_type();
  if (is_selected(ScalarType::Bool) && result == ScalarType::Bool) {
    // A sum of truth values is whether any is true, a product whether all are.
    const Accumulator* const truth =
        fold == Fold::Product ? &kAccumulator<AllTrue> : &kAccumulator<AnyTrue>;
    reduce(ctx, truth, self, mask, keepdim, out);
    return out;
  }
  reduce(ctx,
         accumulator_for<A>(is_integral(result) ? Compute::Int64 : compute_of(self.scalar_type())),
         self, mask, keepdim, out);
  return out;
}

template <template <class> class A>
Tensor& sum_like(KernelRuntimeContext& ctx, Fold fold, const Tensor& self,
                 std::optional<ArrayRef<int64_t>> dim, bool keepdim,
                 std::optional<ScalarType> dtype, Tensor& out) {
  uint32_t mask;
  if (reduced_dims(ctx, self, dim, &mask)) sum_like<A>(ctx, fold, self, mask, keepdim, dtype, out);
  return out;
}

Tensor& mean(KernelRuntimeContext& ctx, const Tensor& self, std::optional<ArrayRef<int64_t>> dim,
             bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  if (!ET_EXPECT(ctx,
                 is_complex_call(self, out) || (is_floating(dtype.value_or(self.scalar_type())) &&
                                                is_floating(out.scalar_type())),
                 "the mean is a floating-point number: found self of dtype %s and out of %s",
                 name_of(self.scalar_type()), name_of(out.scalar_type()))) {
    return out;
  }
  return sum_like<Mean>(ctx, Fold::Mean, self, dim, keepdim, dtype, out);
}

template <template <class> class A>
Tensor& extreme(KernelRuntimeContext& ctx, const Tensor& self, std::optional<ArrayRef<int64_t>> dim,
                bool keepdim, Tensor& out) {
  uint32_t mask;
  if (!expect_number(ctx, "self", self) || !reduced_dims(ctx, self, dim, &mask) ||
      !ET_EXPECT(ctx, reduced_count(self, mask) > 0,
                 "no largest or smallest of zero elements: self has shape %s",
                 ShapeText(self).text)) {
    return out;
  }
  reduce(ctx, accumulator_for<A>(compute_of(self.scalar_type())), self, mask, keepdim, out);
  return out;
}

/// An empty list of dims reduces nothing; none at all reduces everything.
Tensor& truth(KernelRuntimeContext& ctx, const Accumulator* accumulator, const Tensor& self,
              std::optional<ArrayRef<int64_t>> dim, bool keepdim, Tensor& out) {
  uint32_t mask = ~uint32_t(0);
  if (dim.has_value() && !expect_dims(ctx, *dim, static_cast<int>(self.dim()), &mask)) return out;
  const ScalarType dtype = out.scalar_type();
  if (!ET_EXPECT(ctx, dtype == ScalarType::Bool || dtype == ScalarType::Byte,
                 "out must be bool or uint8, found %s", name_of(dtype))) {
    return out;
  }
  reduce(ctx, accumulator, self, mask, keepdim, out);
  return out;
}

template <template <class> class A>
Tensor& spread(KernelRuntimeContext& ctx, const Tensor& self, std::optional<ArrayRef<int64_t>> dim,
               double correction, bool keepdim, Tensor& out) {
  uint32_t mask;
  if (!ET_EXPECT(ctx, is_floating(part_dtype(self.scalar_type())) && is_floating(out.scalar_type()),
                 "defined on floating point, found self of dtype %s and out of %s",
                 name_of(self.scalar_type()), name_of(out.scalar_type())) ||
      !reduced_dims(ctx, self, dim, &mask)) {
    return out;
  }
  if (is_complex_call(self, out)) {
    constexpr bool is_root = std::is_same_v<A<float>, Deviation<float>>;
    reduce_complex(ctx, is_root ? Fold::Deviation : Fold::Variance, self, mask, keepdim, out,
                   correction);
    return out;
  }
  reduce(ctx, accumulator_for<A>(compute_of(self.scalar_type())), self, mask, keepdim, out,
         correction);
  return out;
}

double correction_of(const std::optional<Scalar>& correction) {
  return correction.has_value() ? as_double(*correction) : 1;
}

}  // namespace

using Dims = ArrayRef<int64_t>;
using OptionalDims = std::optional<ArrayRef<int64_t>>;
using OptionalType = std::optional<ScalarType>;

Tensor& sum_intlist_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim,
                        bool keepdim, OptionalType dtype, Tensor& out) {
  return sum_like<Sum>(ctx, Fold::Sum, self, dim, keepdim, dtype, out);
}
Tensor& sum_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalType dtype, Tensor& out) {
  return sum_like<Sum>(ctx, Fold::Sum, self, std::nullopt, false, dtype, out);
}
Tensor& prod_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalType dtype, Tensor& out) {
  return sum_like<Product>(ctx, Fold::Product, self, std::nullopt, false, dtype, out);
}
Tensor& prod_int_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool keepdim,
                     OptionalType dtype, Tensor& out) {
  return sum_like<Product>(ctx, Fold::Product, self, Dims(dim), keepdim, dtype, out);
}
Tensor& mean_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim, bool keepdim,
                 OptionalType dtype, Tensor& out) {
  return mean(ctx, self, dim, keepdim, dtype, out);
}
Tensor& mean_dtype_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalType dtype,
                       Tensor& out) {
  return mean(ctx, self, std::nullopt, false, dtype, out);
}

Tensor& amax_out(KernelRuntimeContext& ctx, const Tensor& self, Dims dim, bool keepdim,
                 Tensor& out) {
  if (!expect_same_dtype(ctx, "self", self, "out", out)) return out;
  return extreme<Largest>(ctx, self, dim, keepdim, out);
}
Tensor& amin_out(KernelRuntimeContext& ctx, const Tensor& self, Dims dim, bool keepdim,
                 Tensor& out) {
  if (!expect_same_dtype(ctx, "self", self, "out", out)) return out;
  return extreme<Smallest>(ctx, self, dim, keepdim, out);
}
Tensor& max_unary_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!expect_castable(ctx, self.scalar_type(), out)) return out;
  return extreme<Largest>(ctx, self, std::nullopt, false, out);
}
Tensor& min_unary_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!expect_castable(ctx, self.scalar_type(), out)) return out;
  return extreme<Smallest>(ctx, self, std::nullopt, false, out);
}

Tensor& any_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool keepdim,
                Tensor& out) {
  return truth(ctx, &kAccumulator<AnyTrue>, self, Dims(dim), keepdim, out);
}
Tensor& any_dims_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim, bool keepdim,
                     Tensor& out) {
  return truth(ctx, &kAccumulator<AnyTrue>, self, dim, keepdim, out);
}
Tensor& any_all_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return truth(ctx, &kAccumulator<AnyTrue>, self, std::nullopt, false, out);
}
Tensor& all_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool keepdim,
                Tensor& out) {
  return truth(ctx, &kAccumulator<AllTrue>, self, Dims(dim), keepdim, out);
}
Tensor& all_dims_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim, bool keepdim,
                     Tensor& out) {
  return truth(ctx, &kAccumulator<AllTrue>, self, dim, keepdim, out);
}
Tensor& all_all_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return truth(ctx, &kAccumulator<AllTrue>, self, std::nullopt, false, out);
}

Tensor& var_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim, bool unbiased,
                bool keepdim, Tensor& out) {
  return spread<Variance>(ctx, self, dim, unbiased ? 1 : 0, keepdim, out);
}
Tensor& var_correction_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim,
                           const std::optional<Scalar>& correction, bool keepdim, Tensor& out) {
  return spread<Variance>(ctx, self, dim, correction_of(correction), keepdim, out);
}
Tensor& std_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim, bool unbiased,
                bool keepdim, Tensor& out) {
  return spread<Deviation>(ctx, self, dim, unbiased ? 1 : 0, keepdim, out);
}
Tensor& std_correction_out(KernelRuntimeContext& ctx, const Tensor& self, OptionalDims dim,
                           const std::optional<Scalar>& correction, bool keepdim, Tensor& out) {
  return spread<Deviation>(ctx, self, dim, correction_of(correction), keepdim, out);
}
std::tuple<Tensor&, Tensor&> var_mean_correction_out(KernelRuntimeContext& ctx, const Tensor& self,
                                                     OptionalDims dim,
                                                     const std::optional<Scalar>& correction,
                                                     bool keepdim, Tensor& out0, Tensor& out1) {
  spread<Variance>(ctx, self, dim, correction_of(correction), keepdim, out0);
  if (ctx.failure_state() == Error::Ok) mean(ctx, self, dim, keepdim, std::nullopt, out1);
  return {out0, out1};
}

}  // namespace executorch::kernels::portable
