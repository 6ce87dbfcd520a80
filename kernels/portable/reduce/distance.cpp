// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// p-norm distances between rows. Floating dtypes, computed in float32 or float64.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/NativeFunctions.h>

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

/// Adds d = |x - y| to a total by a norm.
template <Norm norm, class T>
T add(T total, T d, T p) {
  if constexpr (norm == Norm::Zero) return total + T(d != 0);
  if constexpr (norm == Norm::One) return total + d;
  if constexpr (norm == Norm::Two) return total + d * d;
  if constexpr (norm == Norm::Infinity) return d > total || d != d ? d : total;
  if constexpr (norm == Norm::Other) return total + std::pow(d, p);
}

/// Several partial sums, which the compiler vectorizes; the last one takes the remainder.
template <Norm norm, class T>
struct Sums {
  static constexpr int kLanes = 32;
  T lanes[kLanes] = {};

  void add_all(const T* x, const T* y, int64_t n, T p) {
    in_vectors([](Sums* sums, const T* a, const T* b, int64_t count,
                  T power) { sums->add_run(a, b, count, power); },
               this, x, y, n, p);
  }
  void add_run(const T* x, const T* y, int64_t n, T p) {
    int64_t j = 0;
    T own[kLanes];  // in registers
    std::copy_n(lanes, kLanes, own);
    for (; j + kLanes <= n; j += kLanes) {
      for (int k = 0; k < kLanes; ++k) {
        own[k] = add<norm>(own[k], std::abs(x[j + k] - y[j + k]), p);
      }
    }
    std::copy_n(own, kLanes, lanes);
    for (; j < n; ++j) lanes[0] = add<norm>(lanes[0], std::abs(x[j] - y[j]), p);
  }

  /// Halves added to each other, as vectors.
  T total() {
#pragma GCC unroll 8
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int k = 0; k < width; ++k) lanes[k] = joined(lanes[k], lanes[k + width]);
    }
    return lanes[0];
  }
  static T joined(T a, T b) {
    if constexpr (norm == Norm::Infinity) return b > a || b != b ? b : a;
    return a + b;
  }
};

template <class T>
class Distance {
 public:
  Distance(const Vectors& v, double p)
      : v_(v),
        a_(v.dtype),
        b_(v.dtype),
        store_(store(compute_type<T>, v.dtype)),
        norm_(norm_of(p)),
        p_(T(p)) {}

  /// The distance of the vectors at a and b, written to `to` in their dtype.
  void operator()(const char* a, const char* b, char* to) {
    const T distance = measure(a, b);
    store_(to, 0, reinterpret_cast<const char*>(&distance), 0, 1);
  }

 private:
  T measure(const char* a, const char* b) {
    switch (norm_) {
      case Norm::Zero:
        return sum<Norm::Zero>(a, b);
      case Norm::One:
        return sum<Norm::One>(a, b);
      case Norm::Two:
        return std::sqrt(sum<Norm::Two>(a, b));
      case Norm::Infinity:
        return sum<Norm::Infinity>(a, b);
      default:
        return std::pow(sum<Norm::Other>(a, b), 1 / p_);
    }
  }

  template <Norm norm>
  T sum(const char* a, const char* b) {
    Sums<norm, T> sums;
    for (int64_t i = 0; i < v_.n; i += kBlock) {
      const int64_t n = std::min(kBlock, v_.n - i);
      sums.add_all(a_(a + i * v_.stride_a, v_.stride_a, n), b_(b + i * v_.stride_b, v_.stride_b, n),
                   n, p_);
    }
    return sums.total();
  }

  Vectors v_;
  Reader<T> a_, b_;
  Convert store_;
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
  // Broadcast [batch, P, 1] with [batch, 1, R], the shapes [batch, P, M] and [batch, R, M] without
  // M.
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
        distance(at[1] + i * nest.stride(1), at[2] + i * nest.stride(2),
                 at[0] + i * nest.stride(0));
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
        distance(rows.data + i * rows.strides[0], rows.data + j * rows.strides[0], at);
      }
    }
  });
  return out;
}

}  // namespace executorch::kernels::portable
