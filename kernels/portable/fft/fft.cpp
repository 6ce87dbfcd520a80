// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fourier transforms along dimensions of a tensor, computed in the dtype of the parts, float32 or
// float64; and operators that create, split and conjugate complex tensors.
#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/fft/signals.h>

namespace executorch::kernels::portable {
namespace {

using fft::complex_to_complex;
using fft::complex_to_real;
using fft::Job;
using fft::real_to_complex;

using Runner = bool (*)(KernelRuntimeContext&, const Job&);
/// By the dtype of the complex side.
Runner choose(ScalarType dtype, Runner single, Runner twice) {
  return dtype == ScalarType::ComplexFloat ? single : twice;
}

bool expect_complex(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  const ScalarType dtype = tensor.scalar_type();
  return ET_EXPECT(ctx, dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble,
                   "%s must be complex64 or complex128, found %s", name, name_of(dtype));
}

/// The dtype of `real_side` is that of the parts of `complex_side`.
bool expect_parts(KernelRuntimeContext& ctx, const Tensor& complex_side, const Tensor& real_side) {
  const ScalarType dtype = complex_side.scalar_type(), part = real_side.scalar_type();
  return ET_EXPECT(ctx, is_complex(dtype) && part_dtype(dtype) == part,
                   "a complex dtype needs the dtype of its parts, found %s with %s", name_of(dtype),
                   name_of(part));
}

/// The dimensions, in the order of the list, and the factor of the normalization over `signal`.
struct Plan {
  int dims[kMaxRank];
  int count = 0;
  double scale = 1;
};

bool make_plan(KernelRuntimeContext& ctx, const Shape& signal, ArrayRef<int64_t> dims,
               int64_t normalization, Plan* plan) {
  uint32_t mask;
  if (!expect_dims(ctx, dims, signal.rank, &mask) ||
      !ET_EXPECT(ctx, normalization >= 0 && normalization <= 2,
                 "normalization must be 0, 1 or 2, found %" PRId64, normalization)) {
    return false;
  }
  double n = 1;
  for (const int64_t dim : dims) {
    const int d = static_cast<int>(dim < 0 ? dim + signal.rank : dim);
    if (!ET_EXPECT(ctx, d < signal.rank && signal.sizes[d] > 0,
                   "a signal of no elements cannot be transformed (dimension %d)", d)) {
      return false;
    }
    plan->dims[plan->count++] = d;
    n *= static_cast<double>(signal.sizes[d]);
  }
  plan->scale = normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
  return true;
}

/// Along the dimensions of the plan up to `count`, from `from` to `to` and then within `to`.
bool transform_complex(KernelRuntimeContext& ctx, const Strided& to, const Strided& from,
                       const Plan& plan, int count, bool forward, double scale) {
  if (count == 0 && to.data != from.data) return copy(ctx, to, from);
  const Runner run = choose(to.dtype, complex_to_complex<float>, complex_to_complex<double>);
  for (int i = 0; i < count; ++i) {
    const int dim = plan.dims[i];
    const Job job{to, i == 0 ? from : to, dim, to.sizes[dim], forward, i == 0 ? scale : 1};
    if (!run(ctx, job)) return false;
  }
  return true;
}

}  // namespace

Tensor& _fft_c2c_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> dim,
                     int64_t normalization, bool forward, Tensor& out) {
  Plan plan;
  if (expect_complex(ctx, "self", self) && expect_same_dtype(ctx, "self", self, "out", out) &&
      make_plan(ctx, Shape(self), dim, normalization, &plan) && resize_like(ctx, out, self) &&
      out.numel() > 0) {
    transform_complex(ctx, Strided(out), Strided(self), plan, plan.count, forward, plan.scale);
  }
  return out;
}

Tensor& _fft_r2c_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> dim,
                     int64_t normalization, bool onesided, Tensor& out) {
  Plan plan;
  Shape shape(self);
  if (!expect_complex(ctx, "out", out) || !expect_parts(ctx, out, self) ||
      !make_plan(ctx, shape, dim, normalization, &plan) ||
      !ET_EXPECT(ctx, plan.count > 0, "dim must name a dimension, found none")) {
    return out;
  }
  const int last = plan.dims[plan.count - 1];
  const int64_t n = shape.sizes[last];
  if (onesided) shape.sizes[last] = n / 2 + 1;
  if (!resize(ctx, out, shape) || out.numel() == 0) return out;
  const Strided to(out), from(self);
  const Runner run = choose(to.dtype, real_to_complex<float>, real_to_complex<double>);
  if (run(ctx, {to, from, last, n, true, plan.scale})) {
    transform_complex(ctx, to, to, plan, plan.count - 1, true, 1);
  }
  return out;
}

Tensor& _fft_c2r_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> dim,
                     int64_t normalization, int64_t last_dim_size, Tensor& out) {
  Plan plan;
  Shape shape(self);
  int last;
  if (!expect_complex(ctx, "self", self) || !expect_parts(ctx, self, out) ||
      !ET_EXPECT(ctx, !dim.empty(), "dim must name a dimension, found none") ||
      !expect_dim(ctx, dim[dim.size() - 1], shape.rank, &last) ||
      !ET_EXPECT(
          ctx, last < shape.rank && last_dim_size > 0 && shape.sizes[last] >= last_dim_size / 2 + 1,
          "last_dim_size %" PRId64 " does not fit a spectrum of shape %s", last_dim_size,
          ShapeText(shape).text)) {
    return out;
  }
  shape.sizes[last] = last_dim_size;
  if (!make_plan(ctx, shape, dim, normalization, &plan) || !resize(ctx, out, shape) ||
      out.numel() == 0) {
    return out;
  }
  const Strided to(out);
  Strided from(self);
  if (plan.count > 1) {
    // The other dimensions come first, in memory of their own.
    Strided middle = from;
    middle.data = static_cast<char*>(allocate(ctx, from.numel(), from.element_size()));
    if (middle.data == nullptr ||
        !transform_complex(ctx, middle, from, plan, plan.count - 1, false, 1)) {
      return out;
    }
    from = middle;
  }
  // The rest of a longer spectrum holds conjugates of the part read here.
  from.narrow(last, 0, last_dim_size / 2 + 1);
  const Runner run = choose(from.dtype, complex_to_real<float>, complex_to_real<double>);
  run(ctx, {to, from, last, last_dim_size, false, plan.scale});
  return out;
}

namespace {

/// Complex memory as that of its parts, in a last dimension of 2.
Strided parts_of(const Strided& memory) {
  Strided parts = part_of(memory, 0);
  parts.append(2, parts.element_size());
  return parts;
}

}  // namespace

Tensor& view_as_real_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  Shape shape(self);
  if (!expect_parts(ctx, self, out) ||
      !ET_EXPECT(ctx, shape.rank < kMaxRank, "self has the highest rank already, %d", kMaxRank)) {
    return out;
  }
  shape.append(2);
  if (resize(ctx, out, shape)) copy(ctx, Strided(out), parts_of(Strided(self)));
  return out;
}

Tensor& view_as_complex_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  Shape shape(self);
  if (!expect_parts(ctx, out, self) ||
      !ET_EXPECT(ctx, shape.rank > 0 && shape.sizes[shape.rank - 1] == 2,
                 "self must have a last dimension of 2, found shape %s", ShapeText(shape).text)) {
    return out;
  }
  --shape.rank;
  if (resize(ctx, out, shape)) copy(ctx, parts_of(Strided(out)), Strided(self));
  return out;
}

Tensor& complex_out(KernelRuntimeContext& ctx, const Tensor& real, const Tensor& imag,
                    Tensor& out) {
  Shape shape(real);
  if (!expect_same_dtype(ctx, "real", real, "imag", imag) || !expect_parts(ctx, out, real) ||
      !expect_broadcast(ctx, shape, Shape(imag)) || !resize(ctx, out, shape)) {
    return out;
  }
  const Strided to(out);
  if (copy(ctx, part_of(to, 0), expanded(Strided(real), shape))) {
    copy(ctx, part_of(to, 1), expanded(Strided(imag), shape));
  }
  return out;
}

namespace {

/// Bits: the bits of one part of a number.
template <class Bits>
void conjugate_run(Bits* to, int64_t to_step, const Bits* from, int64_t from_step, int64_t n) {
  constexpr Bits kSigns[] = {0, static_cast<Bits>(Bits(1) << (8 * sizeof(Bits) - 1))};
  if (to_step == 2 && from_step == 2) {
    for (int64_t i = 0; i < 2 * n; i += 2) {
      to[i] = static_cast<Bits>(from[i] ^ kSigns[0]);
      to[i + 1] = static_cast<Bits>(from[i + 1] ^ kSigns[1]);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    to[i * to_step] = from[i * from_step];
    to[i * to_step + 1] = static_cast<Bits>(from[i * from_step + 1] ^ kSigns[1]);
  }
}

template <class Bits>
void conjugate(const Strided& to, const Strided& from) {
  constexpr int64_t kSize = sizeof(Bits);
  const LoopNest nest(to, from);
  nest.for_each_row([&](char* const* at) {
    in_vectors([](Bits* t, int64_t t_step, const Bits* f, int64_t f_step,
                  int64_t n) { conjugate_run(t, t_step, f, f_step, n); },
               reinterpret_cast<Bits*>(at[0]), nest.stride(0) / kSize,
               reinterpret_cast<const Bits*>(at[1]), nest.stride(1) / kSize, nest.row());
  });
}

}  // namespace

Tensor& _conj_physical_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self)) return out;
  const Strided to(out), from(self);
  if (!is_complex(to.dtype)) {
    copy(ctx, to, from);
  } else if (to.dtype == ScalarType::ComplexHalf) {
    conjugate<uint16_t>(to, from);
  } else if (to.dtype == ScalarType::ComplexFloat) {
    conjugate<uint32_t>(to, from);
  } else {
    conjugate<uint64_t>(to, from);
  }
  return out;
}

}  // namespace executorch::kernels::portable
