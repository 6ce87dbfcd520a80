// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax, its logarithm, and the gated linear unit: floating dtypes, computed in float32 or
// float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/loop_nest.h>
#include <executorch/kernels/portable/normalize/rows.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

/// A row read three times: for its maximum, for the sum of exponentials, and for the result.
template <class T, bool kLog>
void softmax_row(Reader<T>& reader, Convert store_row, const Row& row) {
  const auto blocks = [&](auto&& f) {
    for (int64_t i = 0; i < row.n; i += kBlock) {
      const int64_t n = std::min(kBlock, row.n - i);
      f(reader(row.in + i * row.in_stride, row.in_stride, n), i, n);
    }
  };
  T largest = -std::numeric_limits<T>::infinity();
  blocks([&](const T* x, int64_t, int64_t n) {
    for (int64_t j = 0; j < n; ++j) largest = x[j] > largest || x[j] != x[j] ? x[j] : largest;
  });
  T sum = 0;
  blocks([&](const T* x, int64_t, int64_t n) {
    for (int64_t j = 0; j < n; ++j) sum += std::exp(x[j] - largest);
  });
  const T factor = 1 / sum;
  const T shift = std::log(sum);
  blocks([&](const T* x, int64_t i, int64_t n) {
    T result[kBlock];
    for (int64_t j = 0; j < n; ++j) {
      result[j] = kLog ? x[j] - largest - shift : std::exp(x[j] - largest) * factor;
    }
    store_row(row.out + i * row.out_stride, row.out_stride, reinterpret_cast<const char*>(result),
              sizeof(T), n);
  });
}

template <bool kLog>
Tensor& softmax(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool half_to_float,
                Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  int axis = 0;
  if (!ET_EXPECT(ctx, is_floating(dtype), "softmax takes floating point, found %s",
                 name_of(dtype)) ||
      !ET_EXPECT(ctx, !half_to_float, "half_to_float is for other devices than the CPU") ||
      !expect_dtype(ctx, "out", out, dtype) || !expect_dim(ctx, dim, int(self.dim()), &axis) ||
      !resize_like(ctx, out, self)) {
    return out;
  }
  visit_compute(compute_of(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (std::is_floating_point_v<T>) {
      Reader<T> reader(dtype);
      const Convert store_row = store(compute_type<T>, dtype);
      for_each_row_along(Strided(out), Strided(self), axis,
                         [&](const Row& row) { softmax_row<T, kLog>(reader, store_row, row); });
    }
  });
  return out;
}

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

Tensor& _softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool half_to_float,
                     Tensor& out) {
  return softmax<false>(ctx, self, dim, half_to_float, out);
}

Tensor& _log_softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         bool half_to_float, Tensor& out) {
  return softmax<true>(ctx, self, dim, half_to_float, out);
}

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
