// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elementary functions of tensors that are computed in float32; portable kernels compute float64.
#include <executorch/kernels/engine/eltwise/eltwise.h>
#include <executorch/kernels/loops/elementwise/elementwise.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

namespace executorch::kernels::optimized {
namespace {

using engine::Unary;

template <Unary function>
void row(const Parameters&, char* out, const char* const* in, int64_t n) {
  engine::UnaryCall call;
  call.function = function;
  call.in = reinterpret_cast<const float*>(in[0]);
  call.out = reinterpret_cast<float*>(out);
  call.count = size_t(n);
  engine::CallingThread thread;  // the loop over rows has divided the work
  engine::unary(call, thread);
}

template <Unary function>
constexpr Elementwise kMap{{nullptr, nullptr, row<function>, nullptr},
                           {},
                           1,
                           Domain::Floating,
                           false,
                           OfComplex::Nothing,
                           {}};

/// True if the operator is computed in float32: neither tensor is float64 or complex.
bool in_float(const Tensor& self, const Tensor& out) {
  const auto is_wide = [](ScalarType dtype) {
    return dtype == ScalarType::Double || is_complex(dtype);
  };
  return !is_wide(self.scalar_type()) && !is_wide(out.scalar_type());
}

}  // namespace

#define ET_MAP_OPERATOR(name, function)                                            \
  Tensor& name##_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) { \
    if (!in_float(self, out)) return portable::name##_out(ctx, self, out);         \
    return elementwise(ctx, kMap<Unary::function>, {self}, out);                   \
  }
ET_MAP_OPERATOR(exp, Exp)
ET_MAP_OPERATOR(sigmoid, Sigmoid)
ET_MAP_OPERATOR(tanh, Tanh)
ET_MAP_OPERATOR(erf, Erf)
#undef ET_MAP_OPERATOR

Tensor& gelu_out(KernelRuntimeContext& ctx, const Tensor& self, std::string_view approximate,
                 Tensor& out) {
  const bool known = approximate == "none" || approximate == "tanh";
  if (!known || !in_float(self, out) || !is_floating(self.scalar_type())) {
    return portable::gelu_out(ctx, self, approximate, out);
  }
  const Elementwise& gelu = approximate == "none" ? kMap<Unary::Gelu> : kMap<Unary::GeluTanh>;
  return elementwise(ctx, gelu, {self}, out);
}

}  // namespace executorch::kernels::optimized
