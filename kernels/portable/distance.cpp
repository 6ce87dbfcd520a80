// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// p-norm distances between rows. Floating dtypes, computed in float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/loop_nest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

enum class Norm { Zero, One, Two, Infinity, Other };

Norm norm_of(double p) {
  if (p == 0) return Norm::Zero;
  if (p == 1) return Norm::One;
  if (p == 2) return Norm::Two;
  return std::isinf(p) ? Norm::Infinity : Norm::Other;
}

/// Vectors of n elements at a stride in bytes.
struct Vectors {
  ScalarType dtype;
  int64_t stride_a, stride_b, n;
};

template <class T>
class Distance {
 public:
  Distance(const Vectors& v, double p)
      : v_(v), a_(v.dtype), b_(v.dtype), norm_(norm_of(p)), p_(T(p)) {}

  T operator()(const char* a, const char* b) {
    T total = 0;
    for (int64_t i = 0; i < v_.n; i += kBlock) {
      const int64_t n = std::min(kBlock, v_.n - i);
      const T* x = a_(a + i * v_.stride_a, v_.stride_a, n);
      const T* y = b_(b + i * v_.stride_b, v_.stride_b, n);
      for (int64_t j = 0; j < n; ++j) total = add(total, std::abs(x[j] - y[j]));
    }
    if (norm_ == Norm::Two) return std::sqrt(total);
    return norm_ == Norm::Other ? std::pow(total, 1 / p_) : total;
  }

 private:
  T add(T total, T d) const {
    switch (norm_) {
      case Norm::Zero:
        return total + T(d != 0);
      case Norm::One:
        return total + d;
      case Norm::Two:
        return total + d * d;
      case Norm::Infinity:
        return d > total || d != d ? d : total;
      default:
        return total + std::pow(d, p_);
    }
  }

  Vectors v_;
  Reader<T> a_, b_;
  Norm norm_;
  T p_;
};

bool check(KernelRuntimeContext& ctx, const Tensor& x, double p, const Tensor& out) {
  return ET_EXPECT(ctx, is_floating(x.scalar_type()), "distances take floating point, found %s",
                   name_of(x.scalar_type())) &&
         ET_EXPECT(ctx, p >= 0, "p must not be negative, found %g", p) &&
         expect_dtype(ctx, "out", out, x.scalar_type());
}

}  // namespace

Tensor& _cdist_forward_out(KernelRuntimeContext& ctx, const Tensor& x1, const Tensor& x2, double p,
                           std::optional<int64_t> compute_mode, Tensor& out) {
  (void)compute_mode;  // chooses between ways to compute the same
  const int rank1 = int(x1.dim()), rank2 = int(x2.dim());
  if (!check(ctx, x1, p, out) || !expect_same_dtype(ctx, "x1", x1, "x2", x2) ||
      !ET_EXPECT(ctx, rank1 >= 2 && rank2 >= 2 && x1.size(rank1 - 1) == x2.size(rank2 - 1),
                 "x1 and x2 must be rows of one length, found sizes %s and %s", ShapeText(x1).text,
                 ShapeText(x2).text)) {
    return out;
  }
  // [batch, P, 1] and [batch, 1, R]: what is left of [batch, P, M] and [batch, R, M] is broadcast.
  Shape shape1(x1), shape2(x2);
  shape1.sizes[rank1 - 1] = 1;
  shape2.sizes[rank2 - 1] = shape2.sizes[rank2 - 2];
  shape2.sizes[rank2 - 2] = 1;
  Shape shape = shape1;
  if (!expect_broadcast(ctx, shape, shape2) || !resize(ctx, out, shape)) return out;
  Strided a(x1), b(x2);
  const Vectors vectors = {x1.scalar_type(), a.strides[rank1 - 1], b.strides[rank2 - 1],
                           a.sizes[rank1 - 1]};
  a.sizes[rank1 - 1] = 1;
  b.sizes[rank2 - 1] = b.sizes[rank2 - 2];
  b.strides[rank2 - 1] = b.strides[rank2 - 2];
  b.sizes[rank2 - 2] = 1;
  const LoopNest nest(Strided(out), expanded(a, shape), expanded(b, shape));
  visit_floating(vectors.dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    Distance<T> distance(vectors, p);
    nest.for_each_row([&](char* const* at) {
      for (int64_t i = 0; i < nest.row(); ++i) {
        write<T>(distance(at[1] + i * nest.stride(1), at[2] + i * nest.stride(2)),
                 at[0] + i * nest.stride(0), vectors.dtype);
      }
    });
  });
  return out;
}

Tensor& _pdist_forward_out(KernelRuntimeContext& ctx, const Tensor& self, double p, Tensor& out) {
  if (!check(ctx, self, p, out) ||
      !ET_EXPECT(ctx, self.dim() == 2, "self must have 2 dimensions, found sizes %s",
                 ShapeText(self).text)) {
    return out;
  }
  const int64_t n = self.size(0);
  Shape shape;
  shape.append(n > 1 ? n * (n - 1) / 2 : 0);
  if (!resize(ctx, out, shape)) return out;
  const Strided rows(self), to(out);
  const Vectors vectors = {rows.dtype, rows.strides[1], rows.strides[1], rows.sizes[1]};
  visit_floating(vectors.dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    Distance<T> distance(vectors, p);
    char* at = to.data;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j, at += to.strides[0]) {
        write<T>(distance(rows.data + i * rows.strides[0], rows.data + j * rows.strides[0]), at,
                 vectors.dtype);
      }
    }
  });
  return out;
}

}  // namespace executorch::kernels::portable
