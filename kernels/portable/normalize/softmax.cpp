// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax, its logarithm, and the gated linear unit: floating dtypes, computed in float32 or
// float64.
#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/reduce/extreme.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

// Elements worth the start of a thread.
constexpr int64_t kMinExponentials = 1 << 15;

/// exp(x) for x <= 88.
template <class T>
T exponential(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return float_exp<float, int32_t>(x);
  } else {
    return std::exp(x);
  }
}

/// NaN is larger than every number.
template <class T>
T larger(T x, T y) {
  return (x != x) | (x > y) ? x : y;
}

/// A line along the dimension: `n` elements, strides in bytes.
struct Line {
  int64_t n, out_stride, in_stride;
};

/// Softmax of lines, each read three times: for its maximum, for the sum of exponentials, and for
/// the result. Contiguous lines are computed one at a time, others as a block of adjacent lines.
template <class T, bool kLog>
class Softmax {
 public:
  Softmax(ScalarType dtype, const Line& line)
      : reader_(dtype),
        store_(store(compute_type<T>, dtype)),
        line_(line),
        is_direct_(dtype == dtype_of(compute_type<T>)) {}

  void along(char* out, const char* in) {
    T largest = worst<true, T>();
    blocks(in,
           [&](const T* x, int64_t, int64_t n) { largest = larger(best_of<true>(x, n), largest); });
    T lanes[kLanes] = {};
    T* const kept = keeps(line_.out_stride) ? reinterpret_cast<T*>(out) : nullptr;
    blocks(in, [&](const T* x, int64_t i, int64_t n) {
      T* const e = kept != nullptr ? kept + i : result_;
      for (int64_t j = 0; j < n; ++j) e[j] = exponential(x[j] - largest);
      add_up(e, n, lanes);
    });
    T sum = 0;
    for (const T lane : lanes) sum += lane;
    const T factor = 1 / sum, shift = std::log(sum);
    if (kept != nullptr) {
      for (int64_t i = 0; i < line_.n; ++i) kept[i] *= factor;
      return;
    }
    blocks(in, [&](const T* x, int64_t i, int64_t n) {
      for (int64_t j = 0; j < n; ++j) {
        result_[j] = kLog ? x[j] - largest - shift : exponential(x[j] - largest) * factor;
      }
      write(out + i * line_.out_stride, line_.out_stride, n);
    });
  }

  /// `n` lines at most kBlock, whose starts are the given strides apart.
  void across(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n) {
    const auto for_each_row = [&](auto&& f) {
      for (int64_t i = 0; i < line_.n; ++i) {
        f(reader_(in + i * line_.in_stride, in_stride, n), out + i * line_.out_stride);
      }
    };
    std::fill_n(largest_, n, -std::numeric_limits<T>::infinity());
    std::fill_n(sum_, n, T(0));
    for_each_row([&](const T* x, char*) {
      for (int64_t j = 0; j < n; ++j) largest_[j] = larger(x[j], largest_[j]);
    });
    const bool kept = keeps(out_stride);
    for_each_row([&](const T* x, char* to) {
      T* const e = kept ? reinterpret_cast<T*>(to) : result_;
      for (int64_t j = 0; j < n; ++j) e[j] = exponential(x[j] - largest_[j]);
      for (int64_t j = 0; j < n; ++j) sum_[j] += e[j];
    });
    for (int64_t j = 0; j < n; ++j) sum_[j] = kLog ? std::log(sum_[j]) : 1 / sum_[j];
    for_each_row([&](const T* x, char* to) {
      if (kept) {
        for (int64_t j = 0; j < n; ++j) reinterpret_cast<T*>(to)[j] *= sum_[j];
        return;
      }
      for (int64_t j = 0; j < n; ++j) {
        const T below = x[j] - largest_[j];
        result_[j] = kLog ? below - sum_[j] : exponential(below) * sum_[j];
      }
      write(to, out_stride, n);
    });
  }

 private:
  static constexpr int64_t kLanes = 32;

  // Exponentials stay in the output until their sum is known, if it holds them as they are.
  bool keeps(int64_t out_stride) const {
    return !kLog && is_direct_ && out_stride == int64_t(sizeof(T));
  }
  template <class F>
  void blocks(const char* in, F&& f) {
    for (int64_t i = 0; i < line_.n; i += kBlock) {
      const int64_t n = std::min(kBlock, line_.n - i);
      f(reader_(in + i * line_.in_stride, line_.in_stride, n), i, n);
    }
  }
  // Element i into lane i modulo kLanes.
  static void add_up(const T* x, int64_t n, T* lanes) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
    }
    for (int64_t lane = 0; i + lane < n; ++lane) lanes[lane] += x[i + lane];
  }
  void write(char* to, int64_t stride, int64_t n) {
    store_(to, stride, reinterpret_cast<const char*>(result_), sizeof(T), n);
  }

  Reader<T> reader_;
  Convert store_;
  const Line& line_;
  const bool is_direct_;  // tensors hold T
  T result_[kBlock], largest_[kBlock], sum_[kBlock];
};

template <class T, bool kLog>
void softmax_nest(const LoopNest& nest, ScalarType dtype, const Line& line, bool along) {
  Softmax<T, kLog> softmax(dtype, line);
  const int64_t out_stride = nest.stride(0), in_stride = nest.stride(1);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += along ? 1 : kBlock) {
      char* const to = at[0] + i * out_stride;
      const char* const from = at[1] + i * in_stride;
      const auto n = along ? int64_t(1) : std::min(kBlock, nest.row() - i);
      in_vectors(
          [along](Softmax<T, kLog>* lines, char* out_at, int64_t out_step, const char* in_at,
                  int64_t in_step, int64_t count) {
            along ? lines->along(out_at, in_at)
                  : lines->across(out_at, out_step, in_at, in_step, count);
          },
          &softmax, to, out_stride, from, in_stride, n);
    }
  });
}

template <class T, bool kLog>
void softmax_lines(const Strided& out, const Strided& in, int dim) {
  const Line line = {line_length(in, dim), line_stride(out, dim), line_stride(in, dim)};
  const LoopNest nest(without(out, dim), without(in, dim));
  const bool along = nest.row() == 1 || line.in_stride <= nest.stride(1);
  NestDivision(nest, along ? 1 : kBlock, in.numel(), kMinExponentials)
      .run([&](int64_t, const LoopNest& part) {
        softmax_nest<T, kLog>(part, in.dtype, line, along);
      });
}

template <bool kLog>
Tensor& softmax(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool half_to_float,
                Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  int axis = 0;
  // Without elements there is nothing to compute, whatever the dtype.
  const bool empty = self.numel() == 0;
  if (!ET_EXPECT(ctx, empty || is_floating(dtype), "softmax takes floating point, found %s",
                 name_of(dtype)) ||
      !ET_EXPECT(ctx, !half_to_float, "half_to_float is for other devices than the CPU") ||
      !expect_dtype(ctx, "out", out, dtype) || !expect_dim(ctx, dim, int(self.dim()), &axis) ||
      !resize_like(ctx, out, self) || empty) {
    return out;
  }
  visit_floating(dtype, [&](auto tag) {
    softmax_lines<ET_TYPE_OF(tag), kLog>(Strided(out), Strided(self), axis);
  });
  return out;
}

/// value * sigmoid(gate); for float32, where the formula covers the gates, by that.
template <class T>
void gate_run(const T* value, const T* gates, T* result, int64_t n) {
  uint32_t outside = !std::is_same_v<T, float>;
  for (int64_t j = 0; j < n; ++j) outside |= !(gates[j] > -88);
  if (outside == 0) {
    for (int64_t j = 0; j < n; ++j) result[j] = value[j] / (1 + exponential(-gates[j]));
  } else {
    for (int64_t j = 0; j < n; ++j) result[j] = value[j] / (1 + std::exp(-gates[j]));
  }
}

/// The result is rounded to the input's dtype before it becomes out's.
template <class T>
void gate(const LoopNest& nest, ScalarType dtype, ScalarType out) {
  Reader<T> read_value(dtype), read_gate(dtype);
  const Convert store_row = store(compute_type<T>, out);
  const Convert narrow = dtype == out ? nullptr : store(compute_type<T>, dtype);
  Reader<T> widen(dtype);
  T result[kBlock], narrowed[kBlock];
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += kBlock) {
      const int64_t n = std::min(kBlock, nest.row() - i);
      const T* value = read_value(at[1] + i * nest.stride(1), nest.stride(1), n);
      const T* gates = read_gate(at[2] + i * nest.stride(2), nest.stride(2), n);
      in_vectors([](const T* v, const T* g, T* to, int64_t count) { gate_run(v, g, to, count); },
                 value, gates, result, n);
      const T* values = result;
      if (narrow != nullptr) {
        auto* const bytes = reinterpret_cast<char*>(narrowed);
        narrow(bytes, size_of(dtype), reinterpret_cast<const char*>(result), sizeof(T), n);
        values = widen(bytes, size_of(dtype), n);
      }
      store_row(at[0] + i * nest.stride(0), nest.stride(0), reinterpret_cast<const char*>(values),
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
      !ET_EXPECT(ctx, is_floating(out.scalar_type()), "out must be floating point, found %s",
                 name_of(out.scalar_type())) ||
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
    gate<double>(nest, dtype, out.scalar_type());
  } else {
    gate<float>(nest, dtype, out.scalar_type());
  }
  return out;
}

}  // namespace executorch::kernels::portable
