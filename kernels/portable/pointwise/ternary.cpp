// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators of three inputs: choosing, bounding, and multiply-adds.
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pointwise/complex_math.h>

#include <cmath>

namespace executorch::kernels::portable {
namespace {

// A bound that is NaN gives NaN, as an input that is.
constexpr auto at_least = [](auto x, auto low) { return (x < low) | (low != low) ? low : x; };
constexpr auto at_most = [](auto x, auto high) { return (x > high) | (high != high) ? high : x; };
constexpr auto within = [](auto x, auto low, auto high) { return at_most(at_least(x, low), high); };
constexpr auto where_math = [](bool condition, auto x, auto y) { return condition ? x : y; };
constexpr auto addcmul_math = [](auto x, auto y, auto z, const auto& extra) {
  return plus(x, times(extra.a, times(y, z)));
};
constexpr auto addcdiv_math = [](auto x, auto y, auto z, const auto& extra) {
  return x + extra.a * (y / z);
};
constexpr auto lerp_math = [](auto x, auto y, auto weight) {
  // From the nearer end, as torch does.
  return weight < decltype(x)(0.5) && weight > decltype(x)(-0.5) ? x + weight * (y - x)
                                                                 : y - (y - x) * (1 - weight);
};

constexpr const Elementwise& kLerp =
    kElementwise<lerp_math, 3, Domain::Floating,
                 dtypes_of("lerp_scalar_out") | dtypes_of("lerp_tensor_out"), complex_math::lerp>;

template <class Bound>
Tensor& clamp(KernelRuntimeContext& ctx, const Tensor& self, const std::optional<Bound>& min,
              const std::optional<Bound>& max, Tensor& out) {
  if (min.has_value() && max.has_value()) {
    return elementwise(ctx, kElementwise<within, 3, Domain::Numeric>, {self, *min, *max}, out);
  }
  if (min.has_value())
    return elementwise(ctx, kElementwise<at_least, 2, Domain::Numeric>, {self, *min}, out);
  if (max.has_value())
    return elementwise(ctx, kElementwise<at_most, 2, Domain::Numeric>, {self, *max}, out);
  refuse(ctx, "at least one of min and max must be given, found neither");
  return out;
}

Tensor& multiply_add(KernelRuntimeContext& ctx, const Elementwise& operation, const Tensor& self,
                     const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                     Tensor& out) {
  const ScalarType common = Promotion().add(self).add(tensor1).add(tensor2).result();
  if (!expect_fits(ctx, "value", value, opmath_dtype(common))) return out;
  Parameters parameters;
  parameters.set(0, value);
  return elementwise(ctx, operation, {self, tensor1, tensor2}, out, parameters);
}

}  // namespace

Tensor& clamp_out(KernelRuntimeContext& ctx, const Tensor& self, const std::optional<Scalar>& min,
                  const std::optional<Scalar>& max, Tensor& out) {
  // For floating point, bounds that are numbers and not NaN are read once, not for every element.
  Promotion promotion;
  promotion.add(self);
  if (min.has_value()) promotion.add(*min);
  if (max.has_value()) promotion.add(*max);
  const ScalarType common = promotion.result();
  if ((min.has_value() && !expect_fits(ctx, "min", *min, common)) ||
      (max.has_value() && !expect_fits(ctx, "max", *max, common))) {
    return out;
  }
  const double low = min.has_value() ? as_double(*min) : -HUGE_VAL;
  const double high = max.has_value() ? as_double(*max) : HUGE_VAL;
  if (is_floating(self.scalar_type()) && low == low && high == high &&
      (min.has_value() || max.has_value())) {
    return hardtanh_out(ctx, self, low, high, out);
  }
  return clamp(ctx, self, min, max, out);
}
Tensor& clamp_tensor_out(KernelRuntimeContext& ctx, const Tensor& self,
                         const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                         Tensor& out) {
  return clamp(ctx, self, min, max, out);
}
Tensor& clamp_min_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& min,
                      Tensor& out) {
  return clamp_out(ctx, self, min, std::nullopt, out);
}
Tensor& clamp_max_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& max,
                      Tensor& out) {
  return clamp_out(ctx, self, std::nullopt, max, out);
}

Tensor& where_self_out(KernelRuntimeContext& ctx, const Tensor& condition, const Tensor& self,
                       const Tensor& other, Tensor& out) {
  const ScalarType dtype = condition.scalar_type();
  if (!ET_EXPECT(ctx, dtype == ScalarType::Bool || dtype == ScalarType::Byte,
                 "condition must be bool or uint8, found %s", name_of(dtype))) {
    return out;
  }
  return elementwise(
      ctx,
      kElementwise<where_math, 3, Domain::Choice, dtypes_of("where_self_out"), complex_math::where>,
      {condition, self, other}, out);
}

Tensor& addcmul_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& tensor1,
                    const Tensor& tensor2, const Scalar& value, Tensor& out) {
  return multiply_add(ctx,
                      kElementwise<addcmul_math, 3, Domain::Numeric, dtypes_of("addcmul_out"),
                                   complex_math::addcmul>,
                      self, tensor1, tensor2, value, out);
}
Tensor& addcdiv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& tensor1,
                    const Tensor& tensor2, const Scalar& value, Tensor& out) {
  return multiply_add(ctx,
                      kElementwise<addcdiv_math, 3, Domain::Floating, dtypes_of("addcdiv_out"),
                                   complex_math::addcdiv>,
                      self, tensor1, tensor2, value, out);
}

Tensor& lerp_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& end,
                        const Scalar& weight, Tensor& out) {
  if (!expect_fits(ctx, "weight", weight, opmath_dtype(self.scalar_type()))) return out;
  return elementwise(ctx, kLerp, {self, end, weight}, out);
}
Tensor& lerp_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& end,
                        const Tensor& weight, Tensor& out) {
  return elementwise(ctx, kLerp, {self, end, weight}, out);
}

}  // namespace executorch::kernels::portable
