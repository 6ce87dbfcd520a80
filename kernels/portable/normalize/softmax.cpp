// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// softmax and its logarithm along one dimension: floating dtypes, computed in float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
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

}  // namespace

Tensor& _softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool half_to_float,
                     Tensor& out) {
  return softmax<false>(ctx, self, dim, half_to_float, out);
}

Tensor& _log_softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         bool half_to_float, Tensor& out) {
  return softmax<true>(ctx, self, dim, half_to_float, out);
}

}  // namespace executorch::kernels::portable
