// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that compute each output element from the input elements at the same place. An operator
// is its mathematics, compiled for runs of few compute types. The driver does the rest: type
// promotion, checks, broadcasting, resizing, reading and writing of every dtype.
//
//   constexpr auto hypot_math = [](auto x, auto y) { return std::hypot(x, y); };
//   elementwise(ctx, kElementwise<hypot_math, 2, Domain::Floating>, {self, other}, out);
//
// The mathematics takes elements as C and returns C, or bool if the operator's result is bool.
// An optional last parameter of type Extra<C> carries the operator's numbers, and reports faults
// such as a division by zero.
#pragma once

#include <executorch/kernels/loops/dtype/cast.h>
#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/dtype/dtype.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>

#include <array>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace executorch::kernels {

/// The dtypes on which the mathematics is defined.
enum class Domain : uint8_t {
  Any,       // any common dtype
  Numeric,   // the common dtype, which may not be bool
  Floating,  // floating point: integers are converted to float32
  Integral,  // integers and bool; floating point is refused
  Bits,      // like Integral; the mathematics for bool returns bool
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

/// The parameters as the mathematics receives them.
template <class C>
struct Extra {
  C a, b, c;
  bool& divided_by_zero;

  // Always inline: each user needs few of the values, but compilers see many users.
  __attribute__((always_inline)) explicit Extra(const Parameters& p)
      : a(get(p, 0)), b(get(p, 1)), c(get(p, 2)), divided_by_zero(p.divided_by_zero) {}

 private:
  static C get(const Parameters& p, int i) {
    if constexpr (std::is_floating_point_v<C> || std::is_same_v<C, Complex>) {
      return static_cast<C>(p.floating[i]);
    } else {
      return static_cast<C>(p.integer[i]);
    }
  }
};

/// Mathematics with a second, vectorizable formula for float32 and perhaps int32. `covers` has an
/// overload for each of these types and returns whether the formula may replace the exact one for
/// its arguments. See float_math.h.
template <class Exact, class Fast, class Covers>
struct Approximated {
  Exact exact;
  Fast fast;
  Covers covers;

  template <class... In>
  auto operator()(In... in) const -> decltype(exact(in...)) {
    return exact(in...);
  }
};
template <class Exact, class Fast, class Covers>
Approximated(Exact, Fast, Covers) -> Approximated<Exact, Fast, Covers>;

/// n elements: inputs and output contiguous in their compute types.
using RowFunction = void (*)(const Parameters&, char* out, const char* const* in, int64_t n);

/// Number of integer dtypes of up to 32 bits. Many operators are compiled for these as well, so
/// that their tensors need not be converted to int64 and back.
inline constexpr int kSmallIntegers = 4;
inline constexpr bool has_small_integers =
    is_selected(ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int);

/// Stands for the mathematics on complex numbers of an operator that has none.
inline constexpr auto kNoComplex = [] {};

/// The type of an operator's results for complex inputs.
enum class OfComplex : uint8_t { Nothing, Complex, Real, Bool };

/// An operator's mathematics, compiled.
struct Elementwise {
  static constexpr int kMaxArity = 3;
  RowFunction rows[4];  // by Compute; nullptr outside of the domain and of this build's dtypes
  std::array<RowFunction, has_small_integers ? kSmallIntegers : 0> small;  // or nullptr
  int arity;
  Domain domain;
  bool gives_bool;
  OfComplex of_complex;
  std::array<RowFunction, has_complex ? 1 : 0> complex;  // or nullptr
};

namespace detail {

template <class>
inline constexpr bool is_approximated = false;
template <class Exact, class Fast, class Covers>
inline constexpr bool is_approximated<Approximated<Exact, Fast, Covers>> = true;

/// Converts only to C.
template <class C>
struct Exactly {
  template <class T, class = std::enable_if_t<std::is_same_v<T, C>>>
  operator T() const;
};
/// True if the mathematics has a formula for C, with one or two elements and perhaps the
/// parameters.
template <class F, class C>
constexpr bool has_formula() {
  if constexpr (is_approximated<F>) {
    using Covers = decltype(F::covers);
    using X = Exactly<C>;
    return std::is_invocable_v<Covers, X> || std::is_invocable_v<Covers, X, const Extra<C>&> ||
           std::is_invocable_v<Covers, X, X>;
  } else {
    return false;
  }
}

template <class F, class C, class... In>
auto call(const F& math, const Extra<C>& extra, In... in) {
  if constexpr (std::is_invocable_v<const F&, In..., const Extra<C>&>) {
    return math(in..., extra);
  } else {
    return math(in...);
  }
}

/// The mathematics on element i of the inputs.
template <int arity, class C, class First, class F>
auto apply(const F& math, const Extra<C>& extra, const char* const* in, int64_t i) {
  if constexpr (arity == 1) {
    return call(math, extra, element<First>(in[0], i));
  } else if constexpr (arity == 2) {
    return call(math, extra, element<First>(in[0], i), element<C>(in[1], i));
  } else {
    return call(math, extra, element<First>(in[0], i), element<C>(in[1], i), element<C>(in[2], i));
  }
}

template <int arity, class C, class First, class F>
void run(const F& math, const Extra<C>& extra, char* out, const char* const* in, int64_t from,
         int64_t to) {
  using Result = decltype(apply<arity, C, First>(math, extra, in, 0));
  // Arithmetic on integers narrower than int has type int, so the result's type is C.
  using Out = std::conditional_t<std::is_same_v<Result, bool>, bool, C>;
  auto* const o = reinterpret_cast<Out*>(out);
  // Local copies: the compiler knows that writes to `out` do not change them.
  const Extra<C> own = extra;
  const char* inputs[arity];
  for (int k = 0; k < arity; ++k) inputs[k] = in[k];
  for (int64_t i = from; i < to; ++i) {
    o[i] = static_cast<Out>(apply<arity, C, First>(math, own, inputs, i));
  }
}

template <const auto& math, int arity, class C, class First>
struct Row {
  void operator()(const Parameters& parameters, char* out, const char* const* in, int64_t n) const;
};
template <const auto& math, int arity, class C, class First>
inline void Row<math, arity, C, First>::operator()(const Parameters& parameters, char* out,
                                                   const char* const* in, int64_t n) const {
  const Extra<C> extra(parameters);
  if constexpr (has_formula<std::decay_t<decltype(math)>, C>()) {
    constexpr int64_t kRun = 256;  // one uncovered element makes this many use the exact formula
    for (int64_t first = 0; first < n; first += kRun) {
      const int64_t last = n - first < kRun ? n : first + kRun;
      uint32_t outside = 0;
      for (int64_t i = first; i < last; ++i) {
        outside |= !apply<arity, C, First>(math.covers, extra, in, i);
      }
      if (outside == 0) {
        run<arity, C, First>(math.fast, extra, out, in, first, last);
      } else {
        run<arity, C, First>(math.exact, extra, out, in, first, last);
      }
    }
  } else {
    run<arity, C, First>(math, extra, out, in, 0, n);
  }
}

template <const auto& math, int arity, class C, class First>
void row(const Parameters& parameters, char* out, const char* const* in, int64_t n) {
  constexpr Row<math, arity, C, First> compute;
  if constexpr (std::is_same_v<C, float> || std::is_same_v<C, bool> || std::is_same_v<C, int32_t>) {
    in_vectors([](const Parameters* p, char* to, const char* const* from,
                  int64_t count) { Row<math, arity, C, First>()(*p, to, from, count); },
               &parameters, out, in, n);
  } else {
    compute(parameters, out, in, n);
  }
}

template <const auto& math, int arity, Domain domain, uint64_t dtypes, class C>
constexpr RowFunction row_for() {
  constexpr bool logical = std::is_same_v<C, bool>, integral = std::is_same_v<C, int64_t>;
  if constexpr ((logical && domain != Domain::Logical && domain != Domain::Bits) ||
                (!logical && domain == Domain::Logical) ||
                (integral && domain == Domain::Floating) ||
                (!integral && !logical && (domain == Domain::Integral || domain == Domain::Bits)) ||
                !computes_in<C>(dtypes)) {
    return nullptr;
  } else {
    return row<math, arity, C, std::conditional_t<domain == Domain::Choice, bool, C>>;
  }
}

template <const auto& math, int arity, Domain domain, uint64_t dtypes, ScalarType dtype, class C>
constexpr RowFunction small_row() {
  if constexpr (domain == Domain::Floating || domain == Domain::Logical ||
                (dtypes & dtype_bit(dtype)) == 0) {
    return nullptr;
  } else {
    return row<math, arity, C, std::conditional_t<domain == Domain::Choice, bool, C>>;
  }
}
template <const auto& math, int arity, Domain domain, uint64_t dtypes>
constexpr auto small_rows() {
  if constexpr (has_small_integers) {
    return std::array{small_row<math, arity, domain, dtypes, ScalarType::Byte, uint8_t>(),
                      small_row<math, arity, domain, dtypes, ScalarType::Char, int8_t>(),
                      small_row<math, arity, domain, dtypes, ScalarType::Short, int16_t>(),
                      small_row<math, arity, domain, dtypes, ScalarType::Int, int32_t>()};
  } else {
    return std::array<RowFunction, 0>();
  }
}

/// One row for all complex dtypes: not every operator's formula is worth a vector.
template <const auto& math, int arity, class First>
void complex_row(const Parameters& parameters, char* out, const char* const* in, int64_t n) {
  const Extra<Complex> extra(parameters);
  using Result = decltype(apply<arity, Complex, First>(math, extra, in, 0));
  auto* const o = reinterpret_cast<Result*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = apply<arity, Complex, First>(math, extra, in, i);
}

template <const auto& math>
inline constexpr bool is_complex_math =
    !std::is_same_v<std::decay_t<decltype(math)>, std::decay_t<decltype(kNoComplex)>>;

template <const auto& math, int arity, Domain domain>
constexpr OfComplex of_complex() {
  if constexpr (is_complex_math<math>) {
    using First = std::conditional_t<domain == Domain::Choice, bool, Complex>;
    using Out = decltype(apply<arity, Complex, First>(math, std::declval<const Extra<Complex>&>(),
                                                      std::declval<const char* const*>(), 0));
    return std::is_same_v<Out, bool>     ? OfComplex::Bool
           : std::is_same_v<Out, double> ? OfComplex::Real
                                         : OfComplex::Complex;
  } else {
    return OfComplex::Nothing;
  }
}
template <const auto& math, int arity, Domain domain, uint64_t dtypes>
constexpr auto complex_rows() {
  if constexpr (!has_complex) {
    return std::array<RowFunction, 0>();
  } else if constexpr (!is_complex_math<math> || !holds_complex(dtypes)) {
    return std::array<RowFunction, 1>{nullptr};
  } else {
    using First = std::conditional_t<domain == Domain::Choice, bool, Complex>;
    return std::array<RowFunction, 1>{complex_row<math, arity, First>};
  }
}

template <const auto& math, int arity, Domain domain>
constexpr bool gives_bool() {
  constexpr bool integral = domain == Domain::Integral || domain == Domain::Bits;
  using C = std::conditional_t<domain == Domain::Logical, bool,
                               std::conditional_t<integral, int64_t, float>>;
  using First = std::conditional_t<domain == Domain::Choice, bool, C>;
  using Out = decltype(apply<arity, C, First>(math, std::declval<const Extra<C>&>(),
                                              std::declval<const char* const*>(), 0));
  return std::is_same_v<Out, bool>;
}

}  // namespace detail

/// dtypes: those of the operators that use it, see dtypes_of(). complex: the mathematics on
/// Complex, which gives Complex, or double for an operator whose result is real, or bool.
template <const auto& math, int arity, Domain domain, uint64_t dtypes = EXECUTORCH_SELECTED_DTYPES,
          const auto& complex = kNoComplex>
inline constexpr Elementwise kElementwise{{detail::row_for<math, arity, domain, dtypes, bool>(),
                                           detail::row_for<math, arity, domain, dtypes, int64_t>(),
                                           detail::row_for<math, arity, domain, dtypes, float>(),
                                           detail::row_for<math, arity, domain, dtypes, double>()},
                                          detail::small_rows<math, arity, domain, dtypes>(),
                                          arity,
                                          domain,
                                          detail::gives_bool<math, arity, domain>(),
                                          detail::of_complex<complex, arity, domain>(),
                                          detail::complex_rows<complex, arity, domain, dtypes>()};

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

/// The same for complex inputs. Returns false without computing if no input is complex.
bool elementwise_complex(KernelRuntimeContext& ctx, const Elementwise& operation,
                         const Argument* inputs, Tensor& out, const Parameters& parameters);

}  // namespace executorch::kernels
