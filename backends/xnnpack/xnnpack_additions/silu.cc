// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "silu.h"

#include <executorch/kernels/loops/float_math.h>
#include <executorch/kernels/loops/wide.h>

namespace {

using namespace executorch::kernels;

// x * sigmoid(x) for every x. Below -88 the sigmoid is no normal number.
template <class V, class I>
ET_VECTOR_INLINE V silu_of_any(V x) {
  const V within = x < -88.0f ? all<V>(-88.0f) : x;  // NaN stays
  const V sigmoid = float_sigmoid<V, I>(within);
  return x * (x < -88.0f ? all<V>(0.0f) : sigmoid);
}

void silu(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = silu_of_any<float, int32_t>(in[i]);
}

}  // namespace

void executorch_silu(size_t bytes, const void* input, void* output,
                     const union xnn_unary_uparams*) {
  const auto* const in = static_cast<const float*>(input);
  auto* const out = static_cast<float*>(output);
  const size_t n = bytes / sizeof(float);
#if ET_WIDE_VECTORS
  if (has_fused_widest()) return FusedWidest<silu>::run(in, out, n);
  if (has_fused()) return Fused<silu>::run(in, out, n);
#endif
  silu(in, out, n);
}
