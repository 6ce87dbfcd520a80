// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Arithmetic of two tensors, or of a tensor and a number.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>

#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/number.h>
#include <executorch/kernels/portable/loops/promote.h>

namespace executorch::kernels::portable {

// Mathematics on x and y of type C; extra as elementwise.h has it.
#define MATH(NAME, ...)                                                \
  namespace {                                                          \
  constexpr auto NAME##_math = [](auto x, auto y, const auto& extra) { \
    static_cast<void>(extra);                                          \
    using C [[maybe_unused]] = decltype(x);                            \
    return __VA_ARGS__;                                                \
  };                                                                   \
  }
// The kernel whose second input is a Tensor or a Scalar.
#define KERNEL(FUNCTION, OTHER, NAME, DOMAIN)                                                  \
  Tensor& FUNCTION(KernelRuntimeContext& ctx, const Tensor& self, const OTHER& other,          \
                   Tensor& out) {                                                              \
    return elementwise(ctx, kElementwise<NAME##_math, 2, Domain::DOMAIN>, {self, other}, out); \
  }
// A row: an operator of tensors alone.
#define TENSORS(NAME, DOMAIN, ...) \
  MATH(NAME, __VA_ARGS__)          \
  KERNEL(NAME##_out, Tensor, NAME, DOMAIN)
// A row: an operator with an overload for a number.
#define BOTH(NAME, TENSOR_OVERLOAD, DOMAIN, ...)      \
  MATH(NAME, __VA_ARGS__)                             \
  KERNEL(NAME##TENSOR_OVERLOAD, Tensor, NAME, DOMAIN) \
  KERNEL(NAME##_scalar_out, Scalar, NAME, DOMAIN)

// clang-format off
BOTH(mul,          _out,        Any,      times(x, y))
BOTH(div,          _out,        Floating, x / y)
BOTH(floor_divide, _out,        Numeric,  divide_floor(x, y, extra))
BOTH(fmod,         _tensor_out, Numeric,  modulo_trunc(x, y, extra))
BOTH(remainder,    _tensor_out, Numeric,  modulo_floor(x, y, extra))
TENSORS(atan2,    Floating, std::atan2(x, y))
TENSORS(hypot,    Floating, std::hypot(x, y))
TENSORS(copysign, Floating, std::copysign(x, y))
TENSORS(maximum,  Any,      x != x || x > y ? x : y)
TENSORS(minimum,  Any,      x != x || x < y ? x : y)
TENSORS(fmax,     Any,      y != y || x > y ? x : y)
TENSORS(fmin,     Any,      y != y || x < y ? x : y)
MATH(div_trunc,   divide_trunc(x, y, extra))
MATH(add,         plus(x, y))
MATH(add_scaled,  plus(x, times(extra.a, y)))
MATH(rsub,        minus(y, times(extra.a, x)))
MATH(pow,         power(x, y))
// clang-format on

namespace {

// x + sign * alpha * y. A number promotes as y does.
Tensor& add_scaled(KernelRuntimeContext& ctx, const Elementwise& operation, const Argument& self,
                   const Argument& other, const Scalar& alpha, int sign, Tensor& out) {
  Promotion promotion;
  promotion.add(*self.tensor());
  other.tensor() != nullptr ? promotion.add(*other.tensor()) : promotion.add(*other.number());
  const ScalarType common = promotion.result();
  if (!ET_EXPECT(ctx, sign > 0 || common != ScalarType::Bool,
                 "subtraction is not defined on bool") ||
      !ET_EXPECT(ctx, !alpha.isFloatingPoint() || is_floating(common),
                 "alpha must be an integer for inputs of dtype %s", name_of(common)) ||
      !ET_EXPECT(ctx, !alpha.isBoolean() || common == ScalarType::Bool,
                 "alpha may be a bool for bool inputs alone, found inputs of dtype %s",
                 name_of(common))) {
    return out;
  }
  Parameters parameters;
  parameters.set(0, alpha);
  parameters.floating[0] *= sign;
  parameters.integer[0] = wrapping_mul(parameters.integer[0], sign);
  return elementwise(ctx, operation, {self, other}, out, parameters);
}

Tensor& add(KernelRuntimeContext& ctx, const Argument& self, const Argument& other,
            const Scalar& alpha, int sign, Tensor& out) {
  const Elementwise& plain = kElementwise<add_math, 2, Domain::Any>;
  const bool is_one = sign > 0 && as_double(alpha) == 1;
  // An alpha that every dtype admits.
  if (is_one && alpha.isIntegral(/*includeBool=*/false)) {
    return elementwise(ctx, plain, {self, other}, out);
  }
  return add_scaled(ctx, is_one ? plain : kElementwise<add_scaled_math, 2, Domain::Any>, self,
                    other, alpha, sign, out);
}

Tensor& divide(KernelRuntimeContext& ctx, const Argument& self, const Argument& other,
               std::optional<std::string_view> rounding_mode, Tensor& out) {
  if (!rounding_mode.has_value()) {
    return elementwise(ctx, kElementwise<div_math, 2, Domain::Floating>, {self, other}, out);
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
  return add(ctx, self, other, alpha, -1, out);
}
Tensor& rsub_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                        const Scalar& alpha, Tensor& out) {
  return add(ctx, other, self, alpha, -1, out);
}
Tensor& rsub_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                        const Scalar& alpha, Tensor& out) {
  if (!ET_EXPECT(ctx, self.scalar_type() != ScalarType::Bool, "subtraction is not defined on bool"))
    return out;
  return add_scaled(ctx, kElementwise<rsub_math, 2, Domain::Numeric>, self, other, alpha, 1, out);
}

Tensor& div_out_mode(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
                     std::optional<std::string_view> rounding_mode, Tensor& out) {
  return divide(ctx, self, other, rounding_mode, out);
}
Tensor& div_scalar_mode_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& other,
                            std::optional<std::string_view> rounding_mode, Tensor& out) {
  return divide(ctx, self, other, rounding_mode, out);
}
Tensor& remainder_scalar_tensor_out(KernelRuntimeContext& ctx, const Scalar& self,
                                    const Tensor& other, Tensor& out) {
  return elementwise(ctx, kElementwise<remainder_math, 2, Domain::Numeric>, {self, other}, out);
}

Tensor& pow_tensor_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& exponent,
                              Tensor& out) {
  return elementwise(ctx, kElementwise<pow_math, 2, Domain::Any>, {self, exponent}, out);
}
Tensor& pow_tensor_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& exponent,
                              Tensor& out) {
  if (is_integral(self.scalar_type()) && !exponent.isFloatingPoint() &&
      !ET_EXPECT(ctx, as_int(exponent) >= 0,
                 "integers cannot be raised to the negative power %" PRId64, as_int(exponent))) {
    return out;
  }
  // The powers that models use are products.
  if (as_double(exponent) == 2 &&
      (exponent.isFloatingPoint() == false || is_floating(self.scalar_type())) &&
      self.scalar_type() != ScalarType::Bool) {
    return mul_out(ctx, self, self, out);
  }
  return elementwise(ctx, kElementwise<pow_math, 2, Domain::Any>, {self, exponent}, out);
}
Tensor& pow_scalar_out(KernelRuntimeContext& ctx, const Scalar& self, const Tensor& exponent,
                       Tensor& out) {
  return elementwise(ctx, kElementwise<pow_math, 2, Domain::Any>, {self, exponent}, out);
}

}  // namespace executorch::kernels::portable
