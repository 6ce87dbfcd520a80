// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators of one tensor and some numbers.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>

#include <cmath>

namespace executorch::kernels::portable {
namespace {

// Numbers reach the mathematics as extra.a, extra.b, extra.c, in the compute type.

constexpr auto elu_math = [](auto x, const auto& extra) {
  return x <= 0 ? std::expm1(x * extra.c) * extra.a : x * extra.b;
};
constexpr auto leaky_relu_math = [](auto x, const auto& extra) { return x > 0 ? x : x * extra.a; };
constexpr auto hardtanh_math = [](auto x, const auto& extra) {
  return x < extra.a ? extra.a : x > extra.b ? extra.b : x;
};
constexpr auto threshold_math = [](auto x, const auto& extra) {
  return x <= extra.a ? extra.b : x;
};
constexpr auto softplus_math = [](auto x, const auto& extra) {
  return x * extra.a > extra.b ? x : std::log1p(std::exp(x * extra.a)) / extra.a;
};
constexpr auto gelu_math = [](auto x) {
  using C = decltype(x);
  return C(0.5) * x * (1 + std::erf(x * C(0.70710678118654752440)));
};
constexpr auto gelu_tanh_math = [](auto x) {
  using C = decltype(x);
  const C inner = C(0.79788456080286535588) * (x + C(0.044715) * x * x * x);
  return C(0.5) * x * (1 + std::tanh(inner));
};
constexpr auto logit_math = [](auto x) { return std::log(x / (1 - x)); };
constexpr auto logit_clamped_math = [](auto x, const auto& extra) {
  const auto clamped = x < extra.a ? extra.a : x > extra.b ? extra.b : x;
  return std::log(clamped / (1 - clamped));
};
constexpr auto round_decimals_math = [](auto x, const auto& extra) {
  return extra.b != 0 ? std::nearbyint(x / extra.a) * extra.a
                      : std::nearbyint(x * extra.a) / extra.a;
};

Parameters numbers(const Scalar& a) {
  Parameters p;
  p.set(0, a);
  return p;
}
Parameters numbers(const Scalar& a, const Scalar& b) {
  Parameters p = numbers(a);
  p.set(1, b);
  return p;
}
Parameters numbers(const Scalar& a, const Scalar& b, const Scalar& c) {
  Parameters p = numbers(a, b);
  p.set(2, c);
  return p;
}

// Activations give their input's dtype, and are defined on floating point alone.
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
  Parameters p = numbers(alpha, scale, input_scale);
  p.floating[0] *= p.floating[1];
  return activation(ctx, kElementwise<elu_math, 1, Domain::Floating>, self, out, p);
}

Tensor& leaky_relu_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& negative_slope,
                       Tensor& out) {
  return activation(ctx, kElementwise<leaky_relu_math, 1, Domain::Floating>, self, out,
                    numbers(negative_slope));
}

Tensor& softplus_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& beta,
                     const Scalar& threshold, Tensor& out) {
  return activation(ctx, kElementwise<softplus_math, 1, Domain::Floating>, self, out,
                    numbers(beta, threshold));
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
  return elementwise(ctx, kElementwise<hardtanh_math, 1, Domain::Numeric>, {self}, out,
                     numbers(min_val, max_val));
}

Tensor& threshold_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& threshold,
                      const Scalar& value, Tensor& out) {
  return elementwise(ctx, kElementwise<threshold_math, 1, Domain::Numeric>, {self}, out,
                     numbers(threshold, value));
}

Tensor& logit_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<double> eps,
                  Tensor& out) {
  if (!eps.has_value())
    return elementwise(ctx, kElementwise<logit_math, 1, Domain::Floating>, {self}, out);
  return elementwise(ctx, kElementwise<logit_clamped_math, 1, Domain::Floating>, {self}, out,
                     {*eps, 1 - *eps});
}

Tensor& round_decimals_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t decimals,
                           Tensor& out) {
  if (is_integral(self.scalar_type())) return round_out(ctx, self, out);
  const double power = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
  return elementwise(ctx, kElementwise<round_decimals_math, 1, Domain::Floating>, {self}, out,
                     {power, decimals < 0 ? 1.0 : 0.0});
}

}  // namespace executorch::kernels::portable
