// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that compute each element of their output from the elements at the same place of their
// inputs. An operator is its mathematics, compiled for runs of few compute types; the driver does
// all else: type promotion, checks, broadcasting, resizing, reading and writing of every dtype.
//
//   constexpr auto hypot_math = [](auto x, auto y) { return std::hypot(x, y); };
//   elementwise(ctx, kElementwise<hypot_math, 2, Domain::Floating>, {self, other}, out);
//
// Mathematics gets its elements as C and gives C, or bool for an operator whose result is one. A
// last parameter of type Extra<C>, if it takes one, carries the operator's numbers and a way to
// report a fault.
#pragma once

#include <executorch/kernels/portable/loops/cast.h>
#include <executorch/kernels/portable/loops/dtype.h>

#include <array>
#include <initializer_list>
#include <type_traits>

namespace executorch::kernels::portable {

/// What the mathematics is defined on.
enum class Domain : uint8_t {
  Any,       // the common dtype, whatever it is
  Numeric,   // the common dtype, which may not be bool
  Floating,  // floating point: integers are computed, and given, as float32
  Integral,  // integers and bool; floating point is refused
  Logical,   // truth values: each input is read as bool by itself
  Choice,    // the first input is a condition, read as bool; the rest as Any
};

/// The numbers of an operator (alpha, bounds) for every compute type.
struct Parameters {
  static constexpr int kCount = 3;
  double floating[kCount] = {};
  int64_t integer[kCount] = {};
  mutable bool divided_by_zero = false;

  Parameters() = default;
  Parameters(std::initializer_list<double> values);
  void set(int index, const Scalar& value);
};

/// What mathematics sees of the parameters.
template <class C>
struct Extra {
  C a, b, c;
  bool& divided_by_zero;

  explicit Extra(const Parameters& p)
      : a(get(p, 0)), b(get(p, 1)), c(get(p, 2)), divided_by_zero(p.divided_by_zero) {}

 private:
  static C get(const Parameters& p, int i) {
    if constexpr (std::is_floating_point_v<C>) {
      return static_cast<C>(p.floating[i]);
    } else {
      return static_cast<C>(p.integer[i]);
    }
  }
};

/// n elements: inputs and output contiguous in their compute types.
using RowFunction = void (*)(const Parameters&, char* out, const char* const* in, int64_t n);

/// An operator's mathematics, compiled.
struct Elementwise {
  static constexpr int kMaxArity = 3;
  RowFunction rows[4];  // by Compute; nullptr outside of the domain and of this build's dtypes
  int arity;
  Domain domain;
  bool gives_bool;
};

namespace detail {

template <const auto& math, class C, class... In>
decltype(auto) call(const Extra<C>& extra, In... in) {
  if constexpr (std::is_invocable_v<decltype(math), In..., const Extra<C>&>) {
    return math(in..., extra);
  } else {
    return math(in...);
  }
}

template <const auto& math, int arity, class C, class First>
void row(const Parameters& parameters, char* out, const char* const* in, int64_t n) {
  const Extra<C> extra(parameters);
  const auto* const x = reinterpret_cast<const First*>(in[0]);
  if constexpr (arity == 1) {
    auto* const o = reinterpret_cast<std::decay_t<decltype(call<math>(extra, First{}))>*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = call<math>(extra, x[i]);
  } else if constexpr (arity == 2) {
    auto* const o = reinterpret_cast<std::decay_t<decltype(call<math>(extra, First{}, C{}))>*>(out);
    const auto* const y = reinterpret_cast<const C*>(in[1]);
    for (int64_t i = 0; i < n; ++i) o[i] = call<math>(extra, x[i], y[i]);
  } else {
    auto* const o =
        reinterpret_cast<std::decay_t<decltype(call<math>(extra, First{}, C{}, C{}))>*>(out);
    const auto* const y = reinterpret_cast<const C*>(in[1]);
    const auto* const z = reinterpret_cast<const C*>(in[2]);
    for (int64_t i = 0; i < n; ++i) o[i] = call<math>(extra, x[i], y[i], z[i]);
  }
}

template <const auto& math, int arity, Domain domain, class C>
constexpr RowFunction row_for() {
  constexpr bool logical = std::is_same_v<C, bool>, integral = std::is_same_v<C, int64_t>;
  if constexpr (logical != (domain == Domain::Logical) ||
                (integral && domain == Domain::Floating) ||
                (!integral && domain == Domain::Integral) || !is_computed<C>) {
    return nullptr;
  } else {
    return row<math, arity, C, std::conditional_t<domain == Domain::Choice, bool, C>>;
  }
}

template <const auto& math, int arity, Domain domain>
constexpr bool gives_bool() {
  using C = std::conditional_t<domain == Domain::Logical, bool,
                               std::conditional_t<domain == Domain::Integral, int64_t, float>>;
  using First = std::conditional_t<domain == Domain::Choice, bool, C>;
  const Parameters* const none = nullptr;
  if constexpr (arity == 1) {
    return std::is_same_v<decltype(call<math>(Extra<C>(*none), First{})), bool>;
  } else if constexpr (arity == 2) {
    return std::is_same_v<decltype(call<math>(Extra<C>(*none), First{}, C{})), bool>;
  } else {
    return std::is_same_v<decltype(call<math>(Extra<C>(*none), First{}, C{}, C{})), bool>;
  }
}

}  // namespace detail

template <const auto& math, int arity, Domain domain>
inline constexpr Elementwise kElementwise{
    {detail::row_for<math, arity, domain, bool>(), detail::row_for<math, arity, domain, int64_t>(),
     detail::row_for<math, arity, domain, float>(), detail::row_for<math, arity, domain, double>()},
    arity,
    domain,
    detail::gives_bool<math, arity, domain>()};

/// An input: a tensor, or a number, which promotes as torch's Python numbers do.
class Argument {
 public:
  Argument(const Tensor& tensor) : tensor_(&tensor) {}  // NOLINT: meant to convert
  Argument(const Scalar& number) : number_(&number) {}  // NOLINT: meant to convert
  const Tensor* tensor() const { return tensor_; }
  const Scalar* number() const { return number_; }

 private:
  const Tensor* tensor_ = nullptr;
  const Scalar* number_ = nullptr;
};

/// Computes `out`, resized to the inputs' common shape. Fails the context where shapes or dtypes do
/// not fit or an integer was divided by zero; returns `out`.
Tensor& elementwise(KernelRuntimeContext& ctx, const Elementwise& operation,
                    std::initializer_list<Argument> inputs, Tensor& out,
                    const Parameters& parameters = {});

}  // namespace executorch::kernels::portable
