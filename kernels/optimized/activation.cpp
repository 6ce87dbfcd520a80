// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elementary functions of whatever is computed in float32; the portable kernels do float64.
#include <executorch/kernels/loops/elementwise.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/portable/NativeFunctions.h>

namespace executorch::kernels::optimized {
namespace {

template <Isa::Map Isa::* function>
void row(const Parameters&, char* out, const char* const* in, int64_t n) {
  (isa().*function)(reinterpret_cast<const float*>(in[0]), reinterpret_cast<float*>(out), n);
}

template <Isa::Map Isa::* function>
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

#define ET_MAP_OPERATOR(name)                                                      \
  Tensor& name##_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) { \
    if (!in_float(self, out)) return portable::name##_out(ctx, self, out);         \
    return elementwise(ctx, kMap<&Isa::name>, {self}, out);                        \
  }
ET_MAP_OPERATOR(exp)
ET_MAP_OPERATOR(sigmoid)
ET_MAP_OPERATOR(tanh)
ET_MAP_OPERATOR(erf)
#undef ET_MAP_OPERATOR

Tensor& gelu_out(KernelRuntimeContext& ctx, const Tensor& self, std::string_view approximate,
                 Tensor& out) {
  const bool known = approximate == "none" || approximate == "tanh";
  if (!known || !in_float(self, out) || !is_floating(self.scalar_type())) {
    return portable::gelu_out(ctx, self, approximate, out);
  }
  return elementwise(ctx, approximate == "none" ? kMap<&Isa::gelu> : kMap<&Isa::gelu_tanh>, {self},
                     out);
}

}  // namespace executorch::kernels::optimized
