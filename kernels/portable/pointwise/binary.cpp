// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators on two tensors, or on a tensor and a number: arithmetic, comparison, logic, bits.
#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/elementwise/float_power.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pointwise/complex_math.h>

#include <cmath>

namespace executorch::kernels::portable {

namespace {

/// Shifts by a negative number of bits, or by at least the type's width, leave zero or the sign.
template <class C>
C shift_left(C x, C bits) {
  constexpr C kBits = 8 * sizeof(C);
  const bool is_inside = (bits >= 0) & (bits < kBits);
  const auto shifted = static_cast<C>(static_cast<Wrapping<C>>(x) << (is_inside ? bits : 0));
  return is_inside ? shifted : C(0);
}
template <class C>
C shift_right(C x, C bits) {
  constexpr C kBits = 8 * sizeof(C), kMax = kBits - std::is_signed_v<C>;
  if constexpr (sizeof(C) < sizeof(int)) {
    return static_cast<C>(x >> ((bits < 0) | (bits > kMax) ? kMax : bits));
  } else {
    return x >> ((bits < 0) | (bits > kMax) ? kMax : bits);
  }
}

/// The neighbor of x towards y among the numbers of T, a 16-bit float.
template <class T, class C>
C next_in(C x, C y) {
  if (x != x || y != y || x == y) return x == y ? y : x + y;
  uint16_t bits = T(static_cast<float>(x)).x;
  if (x == 0) {
    bits = y > 0 ? 0x0001 : 0x8001;
  } else {
    bits = static_cast<uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1);
  }
  return static_cast<C>(static_cast<float>(T(bits, T::from_bits())));
}

/// The remainder of float32 by way of float64, where quotient and product are exact: for quotients
/// below 2^28.
float quick_modulo(float x, float y) {
  const auto quotient = static_cast<int32_t>(static_cast<double>(x) / static_cast<double>(y));
  const double remainder = static_cast<double>(x) - static_cast<double>(quotient) * y;
  return std::copysign(static_cast<float>(remainder), x);
}
constexpr auto has_quick_modulo = [](float x, float y) {
  const float quotient = std::fabs(x / y);
  return quotient < 268435456.0f && std::fabs(y) < 1e38f;
};

/// Divides int32 numbers in float64, which represents every int32 exactly. The divisor must not be
/// 0 and the quotient must fit int32.
int32_t quick_quotient(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<double>(x) / static_cast<double>(y));
}
int32_t quick_modulo(int32_t x, int32_t y) { return x - quick_quotient(x, y) * y; }
constexpr auto has_quick_quotient = [](int32_t x, int32_t y) {
  return (y != 0) & ((y != -1) | (x != INT32_MIN));
};

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;
constexpr Overloaded has_quick_division{has_quick_modulo, has_quick_quotient};

constexpr auto fmod_math =
    Approximated{[](auto x, auto y, const auto& extra) { return modulo_trunc(x, y, extra); },
                 Overloaded{[](float x, float y) { return quick_modulo(x, y); },
                            [](int32_t x, int32_t y) { return quick_modulo(x, y); }},
                 has_quick_division};
constexpr auto remainder_math = Approximated{
    [](auto x, auto y, const auto& extra) { return floored(modulo_trunc(x, y, extra), y); },
    Overloaded{[](float x, float y) { return floored(quick_modulo(x, y), y); },
               [](int32_t x, int32_t y) { return floored(quick_modulo(x, y), y); }},
    has_quick_division};
constexpr auto floor_divide_math = Approximated{
    [](auto x, auto y, const auto& extra) { return divide_floor(x, y, extra); },
    Overloaded{[](float x, float y) {
                 return floor_of_quotient(x, y, quick_modulo(x, y),
                                          [](float v) { return float_floor<float, int32_t>(v); });
               },
               [](int32_t x, int32_t y) {
                 const int32_t quotient = quick_quotient(x, y);
                 return quotient - ((quotient * y != x) & ((x < 0) != (y < 0)));
               }},
    has_quick_division};
constexpr auto div_trunc_math =
    Approximated{[](auto x, auto y, const auto& extra) { return divide_trunc(x, y, extra); },
                 [](int32_t x, int32_t y) { return quick_quotient(x, y); }, has_quick_quotient};
constexpr auto atan2_math =
    Approximated{[](auto y, auto x) { return std::atan2(y, x); },
                 [](float y, float x) { return float_atan2<float, int32_t>(y, x); },
                 [](float y, float x) {
                   const float a = std::fabs(y), b = std::fabs(x);
                   return a < 1e30f && b < 1e30f && (a > 1e-30f || b > 1e-30f);
                 }};
constexpr auto exact_power = [](auto x, auto y) { return power(x, y); };
#if defined(__OPTIMIZE_SIZE__)  // a separate formula is too large
constexpr auto pow_math = exact_power;
#else
constexpr auto pow_math =
    Approximated{exact_power, [](float x, float y) { return float_power(x, y); },
                 [](float x, float y) { return has_power(x, y); }};
#endif

}  // namespace

// Mathematics on x and y of type C; extra as elementwise.h has it.
#define MATH(NAME, ...)                                                \
  namespace {                                                          \
  constexpr auto NAME##_math = [](auto x, auto y, const auto& extra) { \
    static_cast<void>(extra);                                          \
    using C [[maybe_unused]] = decltype(x);                            \
    return __VA_ARGS__;                                                \
  };                                                                   \
  }
// The kernel whose second input is a Tensor or a Scalar; its mathematics on complex numbers.
#define KERNEL_Z(FUNCTION, OTHER, NAME, DOMAIN, COMPLEX)                                  \
  Tensor& FUNCTION(KernelRuntimeContext& ctx, const Tensor& self, const OTHER& other,     \
                   Tensor& out) {                                                         \
    return elementwise(                                                                   \
        ctx, kElementwise<NAME##_math, 2, Domain::DOMAIN, dtypes_of(#FUNCTION), COMPLEX>, \
        {self, other}, out);                                                              \
  }
#define KERNEL(FUNCTION, OTHER, NAME, DOMAIN) KERNEL_Z(FUNCTION, OTHER, NAME, DOMAIN, kNoComplex)
#define KERNELS(NAME, TENSOR_OVERLOAD, SCALAR_OVERLOAD, DOMAIN) \
  KERNEL(NAME##TENSOR_OVERLOAD, Tensor, NAME, DOMAIN)           \
  KERNEL(NAME##SCALAR_OVERLOAD, Scalar, NAME, DOMAIN)
// A row: an operator whose operands are all tensors. It needs only this row and a line in
// functions.yaml.
#define TENSORS(NAME, DOMAIN, ...) \
  MATH(NAME, __VA_ARGS__)          \
  KERNEL(NAME##_out, Tensor, NAME, DOMAIN)
// A row: an operator with an overload for a number; the overloads' names.
#define BOTH(NAME, TENSOR_OVERLOAD, SCALAR_OVERLOAD, DOMAIN, ...) \
  MATH(NAME, __VA_ARGS__)                                         \
  KERNELS(NAME, TENSOR_OVERLOAD, SCALAR_OVERLOAD, DOMAIN)
// The same rows of operators that are defined on complex numbers too (complex_math.h).
#define TENSORS_Z(NAME, DOMAIN, ...) \
  MATH(NAME, __VA_ARGS__)            \
  KERNEL_Z(NAME##_out, Tensor, NAME, DOMAIN, complex_math::NAME)
#define BOTH_Z(NAME, TENSOR_OVERLOAD, SCALAR_OVERLOAD, DOMAIN, ...)         \
  MATH(NAME, __VA_ARGS__)                                                   \
  KERNEL_Z(NAME##TENSOR_OVERLOAD, Tensor, NAME, DOMAIN, complex_math::NAME) \
  KERNEL_Z(NAME##SCALAR_OVERLOAD, Scalar, NAME, DOMAIN, complex_math::NAME)

// clang-format off
BOTH_Z(mul, _out,        _scalar_out, Any,      times(x, y))
BOTH_Z(div, _out,        _scalar_out, Floating, x / y)
BOTH_Z(eq,  _tensor_out, _scalar_out, Any,      x == y)
BOTH_Z(ne,  _tensor_out, _scalar_out, Any,      x != y)
BOTH(lt,  _tensor_out, _scalar_out, Any,      x < y)
BOTH(le,  _tensor_out, _scalar_out, Any,      x <= y)
BOTH(gt,  _tensor_out, _scalar_out, Any,      x > y)
BOTH(ge,  _tensor_out, _scalar_out, Any,      x >= y)
BOTH(bitwise_and, _tensor_out, _scalar_out, Bits, static_cast<C>(x & y))
BOTH(bitwise_or,  _tensor_out, _scalar_out, Bits, static_cast<C>(x | y))
BOTH(bitwise_xor, _tensor_out, _scalar_out, Bits, static_cast<C>(x ^ y))
BOTH(bitwise_left_shift,  _tensor_out, _tensor_scalar_out, Integral, shift_left(x, y))
BOTH(bitwise_right_shift, _tensor_out, _tensor_scalar_out, Integral, shift_right(x, y))
KERNEL(fmod_tensor_out,      Tensor, fmod,      Numeric)
KERNEL(remainder_tensor_out, Tensor, remainder, Numeric)
KERNELS(floor_divide, _out,        _scalar_out, Numeric)
TENSORS_Z(logical_and, Logical, static_cast<bool>(x & y))
TENSORS_Z(logical_or,  Logical, static_cast<bool>(x | y))
TENSORS_Z(logical_xor, Logical, x != y)
KERNEL(atan2_out, Tensor, atan2, Floating)
TENSORS(gcd,      Integral, static_cast<C>(common_divisor(x, y)))
TENSORS(lcm,      Integral, common_multiple<C>(x, y))
TENSORS(hypot,    Floating, std::hypot(x, y))
TENSORS(copysign, Floating, std::copysign(x, y))
TENSORS(maximum,  Any,      (x != x) | (x > y) ? x : y)
TENSORS(minimum,  Any,      (x != x) | (x < y) ? x : y)
TENSORS(fmax,     Any,      (y != y) | (x > y) ? x : y)
TENSORS(fmin,     Any,      (y != y) | (x < y) ? x : y)
MATH(add,         plus(x, y))
MATH(add_scaled,  plus(x, times(extra.a, y)))
MATH(rsub,        plus(y, times(extra.a, x)))
MATH(nextafter,   extra.a == 0 ? std::nextafter(x, y) : extra.a > 1 ? next_in<Half>(x, y) : next_in<BFloat16>(x, y))
// clang-format on

namespace {

// Addition and subtraction share their mathematics.
constexpr uint64_t kSumDtypes = dtypes_of("add_out") | dtypes_of("add_scalar_out") |
                                dtypes_of("sub_out") | dtypes_of("sub_scalar_out") |
                                dtypes_of("rsub_tensor_out");

constexpr const Elementwise& kPower =
    kElementwise<pow_math, 2, Domain::Any,
                 dtypes_of("pow_tensor_tensor_out") | dtypes_of("pow_tensor_scalar_out") |
                     dtypes_of("pow_scalar_out"),
                 complex_math::pow>;

constexpr auto cube_math = [](auto x) { return x * x * x; };

/// Rounds the number to the dtype if that has 16 bits, as some operators do first in eager.
Scalar as_element(ScalarType dtype, const Scalar& number) {
  if constexpr (is_selected(ScalarType::Half)) {
    if (dtype == ScalarType::Half) {
      return static_cast<double>(static_cast<float>(Half(static_cast<float>(as_double(number)))));
    }
  }
  if constexpr (is_selected(ScalarType::BFloat16)) {
    if (dtype == ScalarType::BFloat16) {
      return static_cast<double>(
          static_cast<float>(BFloat16(static_cast<float>(as_double(number)))));
    }
  }
  return number;
}

bool expect_alpha(KernelRuntimeContext& ctx, const Scalar& alpha, ScalarType common, int sign) {
  if constexpr (is_computed<int64_t>) {
    const bool takes_floats = is_floating(common) || (has_complex && is_complex(common));
    if (!ET_EXPECT(ctx, sign > 0 || common != ScalarType::Bool,
                   "subtraction is not defined on bool") ||
        !ET_EXPECT(ctx, !alpha.isFloatingPoint() || takes_floats,
                   "alpha must be an integer for inputs of dtype %s", name_of(common))) {
      return false;
    }
    // Eager negates an integer before it converts it.
    if (sign < 0 && alpha.isIntegral(/*includeBool=*/false)) {
      return expect_fits(ctx, "-alpha", Scalar(minus(int64_t(0), as_int(alpha))), common);
    }
  }
  return ET_EXPECT(ctx, !alpha.isBoolean() || common == ScalarType::Bool,
                   "alpha may be a bool only for bool inputs, found inputs of dtype %s",
                   name_of(common)) &&
         expect_fits(ctx, "alpha", alpha, common);
}

/// x + sign * alpha * y. A number promotes as y does.
Tensor& add_scaled(KernelRuntimeContext& ctx, const Elementwise& operation, const Argument& self,
                   const Argument& other, const Scalar& alpha, int sign, Tensor& out) {
  Promotion promotion;
  promotion.add(*self.tensor());
  other.tensor() != nullptr ? promotion.add(*other.tensor()) : promotion.add(*other.number());
  const ScalarType common = promotion.result();
  if (!expect_alpha(ctx, alpha, common, sign)) return out;
  Parameters parameters;
  parameters.set(0, alpha);
  if constexpr (is_selected(ScalarType::Half, ScalarType::BFloat16)) {
    parameters.set(0, as_element(common, alpha));
  }
  parameters.floating[0] *= sign;
  if constexpr (is_computed<int64_t>) {
    const int64_t whole = parameters.integer[0];
    parameters.integer[0] = common == ScalarType::Bool ? whole != 0 : times(whole, int64_t(sign));
  }
  return elementwise(ctx, operation, {self, other}, out, parameters);
}

Tensor& add(KernelRuntimeContext& ctx, const Argument& self, const Argument& other,
            const Scalar& alpha, int sign, Tensor& out) {
  const Elementwise& plain = kElementwise<add_math, 2, Domain::Any, kSumDtypes, complex_math::add>;
  const bool is_one = sign > 0 && as_double(alpha) == 1;
  // An alpha that every dtype admits.
  if (is_one && alpha.isIntegral(/*includeBool=*/false)) {
    return elementwise(ctx, plain, {self, other}, out);
  }
  const Elementwise& scaled =
      kElementwise<add_scaled_math, 2, Domain::Any, kSumDtypes, complex_math::add_scaled>;
  return add_scaled(ctx, is_one ? plain : scaled, self, other, alpha, sign, out);
}

Tensor& divide(KernelRuntimeContext& ctx, const Argument& self, const Argument& other,
               std::optional<std::string_view> rounding_mode, Tensor& out) {
  if (!rounding_mode.has_value()) {
    return elementwise(
        ctx,
        kElementwise<div_math, 2, Domain::Floating, EXECUTORCH_SELECTED_DTYPES, complex_math::div>,
        {self, other}, out);
  }
  if (*rounding_mode == "floor") {
    return elementwise(ctx, kElementwise<floor_divide_math, 2, Domain::Numeric>, {self, other},
                       out);
  }
  if (!ET_EXPECT(ctx, *rounding_mode == "trunc",
                 "rounding_mode must be floor, trunc or none, found %.*s",
                 static_cast<int>(rounding_mode->size()), rounding_mode->data())) {
    return out;
  }
  return elementwise(ctx, kElementwise<div_trunc_math, 2, Domain::Numeric>, {self, other}, out);
}

}  // namespace

Tensor& add_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                const Scalar& alpha, Tensor& out) {
  return add(ctx, self, other, alpha, 1, out);
}
Tensor& add_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                       const Scalar& alpha, Tensor& out) {
  return add(ctx, self, other, alpha, 1, out);
}
Tensor& sub_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                const Scalar& alpha, Tensor& out) {
  return add(ctx, self, other, alpha, -1, out);
}
Tensor& sub_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                       const Scalar& alpha, Tensor& out) {
  if (!ET_EXPECT(ctx, !other.isBoolean(), "subtraction is not defined on bool")) return out;
  return add(ctx, self, other, alpha, -1, out);
}
Tensor& rsub_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                        const Scalar& alpha, Tensor& out) {
  return add(ctx, other, self, alpha, -1, out);
}
Tensor& rsub_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                        const Scalar& alpha, Tensor& out) {
  if (!ET_EXPECT(ctx, self.scalar_type() != ScalarType::Bool && !other.isBoolean(),
                 "subtraction is not defined on bool")) {
    return out;
  }
  const Elementwise& operation =
      kElementwise<rsub_math, 2, Domain::Numeric, dtypes_of("rsub_scalar_out"), complex_math::rsub>;
  return add_scaled(ctx, operation, self, other, alpha, -1, out);
}

Tensor& nextafter_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  // 16-bit floats are computed as float32, but the neighbor depends on the format.
  const ScalarType common = Promotion().add(self).add(other).result();
  if (!ET_EXPECT(ctx, is_floating(common), "defined on floating point, found %s",
                 name_of(common))) {
    return out;
  }
  const double format = common == ScalarType::Half ? 2 : common == ScalarType::BFloat16 ? 1 : 0;
  return elementwise(ctx, kElementwise<nextafter_math, 2, Domain::Floating>, {self, other}, out,
                     {format});
}

Tensor& div_out_mode(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                     std::optional<std::string_view> rounding_mode, Tensor& out) {
  return divide(ctx, self, other, rounding_mode, out);
}
Tensor& div_scalar_mode_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                            std::optional<std::string_view> rounding_mode, Tensor& out) {
  return divide(ctx, self, other, rounding_mode, out);
}
Tensor& fmod_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                        Tensor& out) {
  return elementwise(ctx, kElementwise<fmod_math, 2, Domain::Numeric>,
                     {self, as_element(self.scalar_type(), other)}, out);
}
Tensor& remainder_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                             Tensor& out) {
  return elementwise(ctx, kElementwise<remainder_math, 2, Domain::Numeric>,
                     {self, as_element(self.scalar_type(), other)}, out);
}
Tensor& remainder_scalar_tensor_out(KernelRuntimeContext& ctx, const Scalar& self,
                                    const Tensor& other, Tensor& out) {
  return elementwise(ctx, kElementwise<remainder_math, 2, Domain::Numeric>,
                     {as_element(other.scalar_type(), self), other}, out);
}

Tensor& pow_tensor_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& exponent,
                              Tensor& out) {
  return elementwise(ctx, kPower, {self, exponent}, out);
}
Tensor& pow_tensor_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& exponent,
                              Tensor& out) {
  if (is_integral(self.scalar_type()) && !exponent.isFloatingPoint() &&
      !ET_EXPECT(ctx, as_int(exponent) >= 0,
                 "integers cannot be raised to the negative power %" PRId64, as_int(exponent))) {
    return out;
  }
  // The powers that models use are products and roots.
  const double power = as_double(exponent);
  const bool floating = is_floating(self.scalar_type());
  if (power == 2 && self.scalar_type() != ScalarType::Bool &&
      (floating || !exponent.isFloatingPoint())) {
    return mul_out(ctx, self, self, out);
  }
  if (floating && power == 0.5) return sqrt_out(ctx, self, out);
  if (floating && power == 3) {
    return elementwise(ctx, kElementwise<cube_math, 1, Domain::Floating>, {self}, out);
  }
  if (floating && power == -0.5) return rsqrt_out(ctx, self, out);
  if (floating && power == -1) return reciprocal_out(ctx, self, out);
  // Eager converts the exponent to the common dtype unless that is float32.
  const ScalarType common = Promotion().add(self).add(exponent).result();
  if (common != ScalarType::Float && !expect_fits(ctx, "exponent", exponent, common)) return out;
  return elementwise(ctx, kPower, {self, as_element(self.scalar_type(), exponent)}, out);
}
Tensor& pow_scalar_out(KernelRuntimeContext& ctx, const Scalar& self, const Tensor& exponent,
                       Tensor& out) {
  return elementwise(ctx, kPower, {as_element(exponent.scalar_type(), self), exponent}, out);
}

}  // namespace executorch::kernels::portable
