// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators torch.special.*: one loop for all functions of one argument and one for those of two,
// because computing them costs far more than a call.
#include <executorch/kernels/loops/elementwise/elementwise.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pointwise/bessel.h>
#include <executorch/kernels/portable/pointwise/special.h>

namespace executorch::kernels::portable {
namespace {

using Function = double (*)(double);
using FunctionOfTwo = double (*)(double, double);

constexpr Function kFunctions[] = {
    airy_ai,     bessel_j<0>,        bessel_j<1>, bessel_y<0>,        bessel_y<1>,
    erfcx,       scaled_bessel_i<0>, bessel_i1,   scaled_bessel_i<1>, bessel_i0,
    bessel_k<0>, bessel_k<1>,        ndtri,       scaled_bessel_k<0>, scaled_bessel_k<1>,
};
constexpr FunctionOfTwo kFunctionsOfTwo[] = {lower_gamma, upper_gamma, zeta};

// The number of the function reaches the mathematics as extra.a.
constexpr auto function_math = [](auto x, const auto& extra) {
  return static_cast<decltype(x)>(kFunctions[static_cast<int>(extra.a)](x));
};
constexpr auto function_of_two_math = [](auto x, auto y, const auto& extra) {
  return static_cast<decltype(x)>(kFunctionsOfTwo[static_cast<int>(extra.a)](x, y));
};

Tensor& compute(KernelRuntimeContext& ctx, int function, const Tensor& self, Tensor& out) {
  return elementwise(ctx, kElementwise<function_math, 1, Domain::Floating>, {self}, out,
                     {static_cast<double>(function)});
}

Tensor& compute(KernelRuntimeContext& ctx, int function, const Tensor& self, const Tensor& other,
                Tensor& out) {
  return elementwise(ctx, kElementwise<function_of_two_math, 2, Domain::Floating>, {self, other},
                     out, {static_cast<double>(function)});
}

}  // namespace

#define ONE(NAME, NUMBER)                                                    \
  Tensor& NAME(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) { \
    return compute(ctx, NUMBER, self, out);                                  \
  }
#define TWO(NAME, NUMBER)                                                                         \
  Tensor& NAME(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other, Tensor& out) { \
    return compute(ctx, NUMBER, self, other, out);                                                \
  }

ONE(special_airy_ai_out, 0)
ONE(special_bessel_j0_out, 1)
ONE(special_bessel_j1_out, 2)
ONE(special_bessel_y0_out, 3)
ONE(special_bessel_y1_out, 4)
ONE(special_erfcx_out, 5)
ONE(special_i0e_out, 6)
ONE(special_i1_out, 7)
ONE(special_i1e_out, 8)
ONE(special_modified_bessel_i0_out, 9)
ONE(special_modified_bessel_i1_out, 7)
ONE(special_modified_bessel_k0_out, 10)
ONE(special_modified_bessel_k1_out, 11)
ONE(special_ndtri_out, 12)
ONE(special_scaled_modified_bessel_k0_out, 13)
ONE(special_scaled_modified_bessel_k1_out, 14)
TWO(igamma_out, 0)
TWO(igammac_out, 1)
TWO(special_zeta_out, 2)

#undef ONE
#undef TWO

}  // namespace executorch::kernels::portable
