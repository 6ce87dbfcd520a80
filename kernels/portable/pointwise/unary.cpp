// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators of one tensor, and of one tensor and some numbers.
#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pointwise/complex_math.h>
#include <executorch/kernels/portable/pointwise/special.h>

#include <cmath>
#include <limits>

namespace executorch::kernels::portable {

namespace {

/// Rounding leaves integers as they are.
template <class C, class F>
C rounded(C x, F round) {
  if constexpr (std::is_floating_point_v<C>) {
    return round(x);
  } else {
    return x;
  }
}

template <class C>
C magnitude(C x) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::fabs(x);
  } else {
    return x < 0 ? minus(C(0), x) : x;
  }
}

template <class C>
C relu6(C x) {
  const C above = x < 0 ? C(0) : x;
  return above > 6 ? C(6) : above;
}

/// Domains of the formulas in float_math.h. Beyond 8192, float_sin and float_cos lose digits.
bool is_within(float x, float bound) { return std::fabs(x) < bound; }
bool is_turn(float x) { return is_within(x, 8192); }
bool is_normal_positive(float x) {
  return x >= std::numeric_limits<float>::min() && x <= std::numeric_limits<float>::max();
}
bool has_gamma(float x) {
  const bool negative = (x > -8192) & (x < -1e-6f) & (x != float_floor<float, int32_t>(x));
  return negative | ((x > 1e-30f) & (x < 1e36f));
}

}  // namespace

// A row: the operator's name, its domain, its mathematics. A row and a line in functions.yaml are a
// kernel. The rows ending in Z are defined on complex numbers too (complex_math.h).
#define UNARY(NAME, DOMAIN, ...) \
  MATH(NAME, __VA_ARGS__)        \
  KERNEL(NAME, DOMAIN, kNoComplex)
#define UNARY_Z(NAME, DOMAIN, ...) \
  MATH(NAME, __VA_ARGS__)          \
  KERNEL(NAME, DOMAIN, complex_math::NAME)
// A row that also has a formula for float32 (float_math.h) and that formula's domain.
#define FASTER(NAME, DOMAIN, COVERS, ...) \
  FASTER_MATH(NAME, COVERS, __VA_ARGS__)  \
  KERNEL(NAME, DOMAIN, kNoComplex)
#define FASTER_Z(NAME, DOMAIN, COVERS, ...) \
  FASTER_MATH(NAME, COVERS, __VA_ARGS__)    \
  KERNEL(NAME, DOMAIN, complex_math::NAME)
#define MATH(NAME, ...)                     \
  namespace {                               \
  constexpr auto NAME##_math = [](auto x) { \
    using C [[maybe_unused]] = decltype(x); \
    return __VA_ARGS__;                     \
  };                                        \
  }
#define FASTER_MATH(NAME, COVERS, ...)                                      \
  namespace {                                                               \
  constexpr auto NAME##_math =                                              \
      Approximated{[](auto x) {                                             \
                     using C [[maybe_unused]] = decltype(x);                \
                     return __VA_ARGS__;                                    \
                   },                                                       \
                   [](float x) { return float_##NAME<float, int32_t>(x); }, \
                   []([[maybe_unused]] float x) { return COVERS; }};        \
  }
#define KERNEL(NAME, DOMAIN, COMPLEX)                                                        \
  Tensor& NAME##_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {           \
    return elementwise(                                                                      \
        ctx, kElementwise<NAME##_math, 1, Domain::DOMAIN, dtypes_of(#NAME "_out"), COMPLEX>, \
        {self}, out);                                                                        \
  }

// clang-format off
UNARY_Z(abs,        Any,      magnitude(x))
UNARY_Z(neg,        Numeric,  times(x, C(-1)))
UNARY(sign,       Any,      static_cast<C>((x > 0) - (x < 0)))
UNARY(relu,       Numeric,  x <= 0 ? C(0) : x)
FASTER(ceil,      Numeric,  true, rounded(x, [](auto v) { return std::ceil(v); }))
FASTER(floor,     Numeric,  true, rounded(x, [](auto v) { return std::floor(v); }))
FASTER(round,     Numeric,  true, rounded(x, [](auto v) { return std::nearbyint(v); }))
FASTER(trunc,     Numeric,  true, rounded(x, [](auto v) { return std::trunc(v); }))
FASTER(frac,      Numeric,  true, x - rounded(x, [](auto v) { return std::trunc(v); }))
FASTER_Z(acos,      Floating, std::fabs(x) <= 1, std::acos(x))
FASTER_Z(acosh,     Floating, x >= 1 && x < 1e18f, std::acosh(x))
UNARY_Z(angle,      Floating, x != x ? x : x < 0 ? static_cast<C>(kPi) : C(0))
FASTER_Z(asin,      Floating, std::fabs(x) <= 1, std::asin(x))
FASTER_Z(asinh,     Floating, is_within(x, 1e18f), std::asinh(x))
FASTER_Z(atan,      Floating, true, std::atan(x))
FASTER_Z(atanh,     Floating, is_within(x, 1), std::atanh(x))
FASTER_Z(cos,       Floating, is_turn(x), std::cos(x))
FASTER_Z(cosh,      Floating, is_within(x, 88), std::cosh(x))
UNARY(digamma,    Floating, static_cast<C>(digamma(x)))
FASTER(erf,       Floating, true, std::erf(x))
FASTER(erfc,      Floating, (x < 9) | !(x < 10.1f), std::erfc(x))
FASTER(erfinv,    Floating, is_within(x, 1), static_cast<C>(erfinv(x)))
FASTER_Z(exp,       Floating, (x < 88) & ((x > -87) | (x < -104)), std::exp(x))
FASTER_Z(exp2,      Floating, (x < 127) & ((x > -126) | (x < -150)), std::exp2(x))
FASTER_Z(expm1,     Floating, x < 88, std::expm1(x))
UNARY(i0,         Floating, static_cast<C>(bessel_i0(x)))
FASTER(lgamma,    Floating, has_gamma(x), std::lgamma(x))
FASTER_Z(log,       Floating, is_normal_positive(x), std::log(x))
FASTER_Z(log10,     Floating, is_normal_positive(x), std::log10(x))
FASTER_Z(log1p,     Floating, x > -1 && x < 1e30f, std::log1p(x))
FASTER_Z(log2,      Floating, is_normal_positive(x), std::log2(x))
UNARY_Z(reciprocal, Floating, 1 / x)
UNARY_Z(rsqrt,      Floating, 1 / std::sqrt(x))
FASTER_Z(sigmoid,   Floating, x > -88, 1 / (1 + std::exp(-x)))
FASTER_Z(sin,       Floating, is_turn(x), std::sin(x))
FASTER_Z(sinh,      Floating, is_within(x, 88), std::sinh(x))
UNARY_Z(sqrt,       Floating, std::sqrt(x))
FASTER_Z(tan,       Floating, is_turn(x), std::tan(x))
FASTER_Z(tanh,      Floating, true, std::tanh(x))
FASTER_Z(silu,      Floating, x > -88, x / (1 + std::exp(-x)))
FASTER(mish,      Floating, true, x * std::tanh(std::log1p(std::exp(x))))
UNARY(hardsigmoid, Floating, relu6(x + 3) * (C(1) / 6))
UNARY(hardswish,  Floating, x * relu6(x + 3) * (C(1) / 6))
UNARY_Z(isinf,      Any,      x - x != 0 && x == x)
UNARY_Z(isnan,      Any,      x != x)
UNARY(isposinf,   Any,      x > 0 && x - x != 0)
UNARY(isneginf,   Any,      x < 0 && x - x != 0)
// clang-format on

#undef UNARY
#undef UNARY_Z
#undef FASTER
#undef FASTER_Z
#undef MATH
#undef FASTER_MATH
#undef KERNEL

namespace {
constexpr auto bitwise_not_math = [](auto x) {
  if constexpr (std::is_same_v<decltype(x), bool>) {
    return !x;
  } else {
    return ~x;
  }
};
constexpr auto not_math = [](bool x) { return !x; };
constexpr auto is_zero_math = [](auto x) { return x == 0; };
constexpr auto signbit_math = [](auto x) { return std::signbit(x); };
constexpr auto is_negative_math = [](auto x) { return x < 0; };
}  // namespace

Tensor& bitwise_not_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return elementwise(ctx, kElementwise<bitwise_not_math, 1, Domain::Bits>, {self}, out);
}

Tensor& logical_not_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return self.scalar_type() == ScalarType::Bool
             ? elementwise(ctx, kElementwise<not_math, 1, Domain::Logical>, {self}, out)
             : elementwise(ctx,
                           kElementwise<is_zero_math, 1, Domain::Any, dtypes_of("logical_not_out"),
                                        complex_math::logical_not>,
                           {self}, out);
}

Tensor& signbit_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return is_floating(self.scalar_type())
             ? elementwise(ctx, kElementwise<signbit_math, 1, Domain::Floating>, {self}, out)
             : elementwise(ctx, kElementwise<is_negative_math, 1, Domain::Any>, {self}, out);
}

namespace {

// Numbers reach the mathematics as extra.a, extra.b, extra.c, in the compute type.

constexpr auto elu_math =
    Approximated{[](auto x, const auto& extra) {
                   return x <= 0 ? std::expm1(x * extra.c) * extra.a : x * extra.b;
                 },
                 [](float x, const Extra<float>& extra) {
                   const float low = float_expm1<float, int32_t>(x * extra.c) * extra.a;
                   return x <= 0 ? low : x * extra.b;
                 },
                 [](float x, const Extra<float>& extra) { return !(x <= 0) || x * extra.c < 88; }};
constexpr auto leaky_relu_math = [](auto x, const auto& extra) { return x > 0 ? x : x * extra.a; };
constexpr auto hardtanh_math = [](auto x, const auto& extra) {
  const auto above = x < extra.a ? extra.a : x;
  return above > extra.b ? extra.b : above;
};
constexpr auto nan_math = [](auto x) { return std::numeric_limits<decltype(x)>::quiet_NaN(); };
constexpr auto threshold_math = [](auto x, const auto& extra) {
  return x <= extra.a ? extra.b : x;
};
constexpr auto softplus_math =
    Approximated{[](auto x, const auto& extra) {
                   return x * extra.a > extra.b ? x : std::log1p(std::exp(x * extra.a)) / extra.a;
                 },
                 [](float x, const Extra<float>& extra) {
                   const float z = x * extra.a;
                   const float soft = float_softplus<float, int32_t>(z) / extra.a;
                   return z > extra.b ? x : soft;
                 },
                 [](float, const Extra<float>&) { return true; }};
constexpr auto gelu_math =
    Approximated{[](auto x) {
                   using C = decltype(x);
                   return C(0.5) * x * (1 + std::erf(x * C(0.70710678118654752440)));
                 },
                 [](float x) { return float_gelu<float, int32_t>(x); }, [](float) { return true; }};
constexpr auto gelu_tanh_math = Approximated{
    [](auto x) {
      using C = decltype(x);
      const C inner = C(0.79788456080286535588) * (x + C(0.044715) * x * x * x);
      return C(0.5) * x * (1 + std::tanh(inner));
    },
    [](float x) { return float_gelu_tanh<float, int32_t>(x); }, [](float) { return true; }};
constexpr auto logit_math =
    Approximated{[](auto x) { return std::log(x / (1 - x)); },
                 [](float x) { return float_log<float, int32_t>(x / (1 - x)); },
                 [](float x) { return x > 1e-30f && x < 1; }};
constexpr auto logit_clamped_math = [](auto x, const auto& extra) {
  const auto clamped = x < extra.a ? extra.a : x > extra.b ? extra.b : x;
  return std::log(clamped / (1 - clamped));
};
constexpr auto polygamma_math = [](auto x, const auto& extra) {
  using C = decltype(x);
  // At its poles below 0, eager's trigamma depends on the rounding of pi and its sine: do the same.
  if (extra.a == 1 && x < 0 && x == std::floor(x)) {
    const C sine = std::sin(static_cast<C>(kPi) * x);
    return static_cast<C>(kPi * kPi) / (sine * sine);
  }
  return static_cast<C>(polygamma(extra.a, x));
};
constexpr auto round_decimals_math = [](auto x, const auto& extra) {
  return extra.b != 0 ? std::nearbyint(x / extra.a) * extra.a
                      : std::nearbyint(x * extra.a) / extra.a;
};

/// A number of an operator: the argument's name, its value, and the dtype that must hold it.
struct NamedNumber {
  const char* name;
  const Scalar& value;
  ScalarType dtype;
};

bool take_numbers(KernelRuntimeContext& ctx, std::initializer_list<NamedNumber> numbers,
                  Parameters* parameters) {
  int i = 0;
  for (const NamedNumber& number : numbers) {
    if (!expect_fits(ctx, number.name, number.value, number.dtype)) return false;
    parameters->set(i++, number.value);
  }
  return true;
}

/// For integers, eager cuts a bound to a whole number before it looks whether it fits.
Scalar whole_number(ScalarType dtype, const Scalar& bound) {
  if constexpr (is_computed<int64_t>) {
    if (is_integral(dtype) && fits(bound, ScalarType::Long)) return Scalar(as_int(bound));
  }
  return bound;
}

/// Activations give their input's dtype, and are defined only on floating point.
Tensor& activation(KernelRuntimeContext& ctx, const Elementwise& operation, const Tensor& self,
                   Tensor& out, const Parameters& parameters = {}) {
  if (!ET_EXPECT(ctx, is_floating(self.scalar_type()),
                 "defined on floating point, found self of dtype %s",
                 name_of(self.scalar_type()))) {
    return out;
  }
  return elementwise(ctx, operation, {self}, out, parameters);
}

}  // namespace

Tensor& elu_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& alpha,
                const Scalar& scale, const Scalar& input_scale, Tensor& out) {
  // The negative side is alpha * scale * expm1(x * input_scale).
  Parameters p;
  const ScalarType dtype = opmath_dtype(self.scalar_type());
  if (!take_numbers(
          ctx,
          {{"alpha", alpha, dtype}, {"scale", scale, dtype}, {"input_scale", input_scale, dtype}},
          &p)) {
    return out;
  }
  p.floating[0] *= p.floating[1];
  return activation(ctx, kElementwise<elu_math, 1, Domain::Floating>, self, out, p);
}

Tensor& leaky_relu_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& negative_slope,
                       Tensor& out) {
  Parameters p;
  if (!take_numbers(ctx, {{"negative_slope", negative_slope, opmath_dtype(self.scalar_type())}},
                    &p)) {
    return out;
  }
  return activation(ctx, kElementwise<leaky_relu_math, 1, Domain::Floating>, self, out, p);
}

Tensor& softplus_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& beta,
                     const Scalar& threshold, Tensor& out) {
  Parameters p;
  const ScalarType dtype = opmath_dtype(self.scalar_type());
  if (!take_numbers(ctx, {{"beta", beta, dtype}, {"threshold", threshold, dtype}}, &p)) return out;
  return activation(ctx, kElementwise<softplus_math, 1, Domain::Floating>, self, out, p);
}

Tensor& gelu_out(KernelRuntimeContext& ctx, const Tensor& self, std::string_view approximate,
                 Tensor& out) {
  if (approximate == "none")
    return activation(ctx, kElementwise<gelu_math, 1, Domain::Floating>, self, out);
  if (!ET_EXPECT(ctx, approximate == "tanh", "approximate must be none or tanh, found %.*s",
                 static_cast<int>(approximate.size()), approximate.data())) {
    return out;
  }
  return activation(ctx, kElementwise<gelu_tanh_math, 1, Domain::Floating>, self, out);
}

Tensor& hardtanh_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& min_val,
                     const Scalar& max_val, Tensor& out) {
  Parameters p;
  const ScalarType dtype = self.scalar_type();
  const Scalar low = whole_number(dtype, min_val), high = whole_number(dtype, max_val);
  if (!take_numbers(ctx, {{"min_val", low, dtype}, {"max_val", high, dtype}}, &p) ||
      !ET_EXPECT(ctx, !is_unsigned(dtype) || (as_double(low) >= 0 && as_double(high) >= 0),
                 "min_val and max_val must not be negative for %s", name_of(dtype))) {
    return out;
  }
  if (is_floating(dtype) && (std::isnan(p.floating[0]) || std::isnan(p.floating[1]))) {
    return elementwise(ctx, kElementwise<nan_math, 1, Domain::Floating>, {self}, out);
  }
  return elementwise(ctx,
                     kElementwise<hardtanh_math, 1, Domain::Numeric, dtypes_of("hardtanh_out")>,
                     {self}, out, p);
}

Tensor& threshold_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& threshold,
                      const Scalar& value, Tensor& out) {
  Parameters p;
  const ScalarType dtype = self.scalar_type();
  if (!take_numbers(ctx, {{"threshold", threshold, opmath_dtype(dtype)}, {"value", value, dtype}},
                    &p)) {
    return out;
  }
  return elementwise(ctx,
                     kElementwise<threshold_math, 1, Domain::Numeric, dtypes_of("threshold_out")>,
                     {self}, out, p);
}

Tensor& logit_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<double> eps,
                  Tensor& out) {
  if (!eps.has_value())
    return elementwise(ctx, kElementwise<logit_math, 1, Domain::Floating>, {self}, out);
  return elementwise(ctx, kElementwise<logit_clamped_math, 1, Domain::Floating>, {self}, out,
                     {*eps, 1 - *eps});
}

Tensor& polygamma_out(KernelRuntimeContext& ctx, int64_t n, const Tensor& self, Tensor& out) {
  if (n == 0) return digamma_out(ctx, self, out);
  if (!ET_EXPECT(ctx, n > 0, "n must not be negative, found %" PRId64, n)) return out;
  return elementwise(ctx, kElementwise<polygamma_math, 1, Domain::Floating>, {self}, out,
                     {static_cast<double>(n)});
}

Tensor& round_decimals_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t decimals,
                           Tensor& out) {
  if (is_integral(self.scalar_type())) return round_out(ctx, self, out);
  const double power = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
  return elementwise(ctx, kElementwise<round_decimals_math, 1, Domain::Floating>, {self}, out,
                     {power, decimals < 0 ? 1.0 : 0.0});
}

}  // namespace executorch::kernels::portable
