// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Samples of categories by their weights.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/strided.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/random/stream.h>

#include <cmath>

namespace executorch::kernels::portable {
namespace {

/// Draws a category by weight: the first one whose cumulative weight exceeds a random number below
/// the sum, or the last one with a weight, in case of rounding errors.
int64_t pick(Stream& stream, const double* weights, int64_t n, double sum) {
  const double mark = stream.uniform(53) * sum;
  double reached = 0;
  int64_t last = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (weights[i] == 0) continue;
    reached += weights[i];
    last = i;
    if (reached > mark) break;
  }
  return last;
}

/// The weights of one distribution: their sum, or a refusal.
bool read_weights(KernelRuntimeContext& ctx, const char* from, int64_t stride, ScalarType dtype,
                  int64_t n, int64_t needed, double* weights, double* sum) {
  load(dtype, Compute::Double)(reinterpret_cast<char*>(weights), sizeof(double), from, stride, n);
  int64_t positive = 0;
  *sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!ET_EXPECT(ctx, weights[i] >= 0 && std::isfinite(weights[i]),
                   "weights must be finite and not negative, found %g", weights[i])) {
      return false;
    }
    positive += weights[i] > 0;
    *sum += weights[i];
  }
  return ET_EXPECT(ctx, positive >= needed,
                   "%" PRId64 " samples need as many categories of positive weight, found %" PRId64,
                   needed, positive);
}

}  // namespace

Tensor& multinomial_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t num_samples,
                        bool replacement, std::optional<int64_t> generator, Tensor& out) {
  Shape shape(self);
  if (!expect_no_generator(ctx, generator) || !expect_floating(ctx, "self", self) ||
      !expect_dtype(ctx, "out", out, ScalarType::Long) ||
      !ET_EXPECT(ctx, num_samples > 0 && (shape.rank == 1 || shape.rank == 2),
                 "num_samples must be positive and self of rank 1 or 2, found %" PRId64
                 " and rank %d",
                 num_samples, shape.rank)) {
    return out;
  }
  const int64_t n = shape.sizes[shape.rank - 1];
  shape.sizes[shape.rank - 1] = num_samples;
  if (!resize(ctx, out, shape)) return out;
  auto* const weights = allocate<double>(ctx, n);
  if (weights == nullptr) return out;
  Strided from(self), to(out);
  if (shape.rank == 1) from.insert(0, 1, 0), to.insert(0, 1, 0);
  Stream stream;
  for (int64_t row = 0; row < to.sizes[0]; ++row) {
    double sum;
    if (!read_weights(ctx, from.data + row * from.strides[0], from.strides[1], from.dtype, n,
                      replacement ? 1 : num_samples, weights, &sum)) {
      return out;
    }
    for (int64_t i = 0; i < num_samples; ++i) {
      const int64_t picked = pick(stream, weights, n, sum);
      *reinterpret_cast<int64_t*>(to.data + row * to.strides[0] + i * to.strides[1]) = picked;
      if (replacement) continue;
      sum -= weights[picked];
      weights[picked] = 0;
    }
  }
  return out;
}

}  // namespace executorch::kernels::portable
