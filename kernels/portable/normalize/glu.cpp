// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Gated linear unit: the first half of a dimension times the sigmoid of the second. Floating
// dtypes.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/loop_nest.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

template <class T>
void gate(const LoopNest& nest, ScalarType dtype) {
  Reader<T> read_value(dtype), read_gate(dtype);
  const Convert store_row = store(compute_type<T>, dtype);
  T result[kBlock];
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += kBlock) {
      const int64_t n = std::min(kBlock, nest.row() - i);
      const T* value = read_value(at[1] + i * nest.stride(1), nest.stride(1), n);
      const T* gates = read_gate(at[2] + i * nest.stride(2), nest.stride(2), n);
      for (int64_t j = 0; j < n; ++j) result[j] = value[j] / (1 + std::exp(-gates[j]));
      store_row(at[0] + i * nest.stride(0), nest.stride(0), reinterpret_cast<const char*>(result),
                sizeof(T), n);
    }
  });
}

}  // namespace

Tensor& glu_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  int axis = 0;
  if (!ET_EXPECT(ctx, is_floating(dtype), "glu takes floating point, found %s", name_of(dtype)) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !ET_EXPECT(ctx, self.dim() > 0, "glu takes no zero-dimensional tensor") ||
      !expect_dim(ctx, dim, int(self.dim()), &axis) ||
      !ET_EXPECT(ctx, self.size(axis) % 2 == 0, "the size of dimension %d must be even, found %s",
                 axis, ShapeText(self).text)) {
    return out;
  }
  Shape shape(self);
  const int64_t half = shape.sizes[axis] /= 2;
  if (!resize(ctx, out, shape)) return out;
  Strided value(self), gates(self);
  value.narrow(axis, 0, half);
  gates.narrow(axis, half, half);
  const LoopNest nest(Strided(out), value, gates);
  if (dtype == ScalarType::Double) {
    gate<double>(nest, dtype);
  } else {
    gate<float>(nest, dtype);
  }
  return out;
}

}  // namespace executorch::kernels::portable
