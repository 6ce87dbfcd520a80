// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fourier transforms along dimensions of a tensor, and what makes and takes apart the complex
// numbers that they give. Computed in the dtype of the parts, float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/fft/transform.h>
#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/copy.h>
#include <executorch/kernels/portable/loops/lines.h>

namespace executorch::kernels::portable {
namespace {

using fft::Parts;
using fft::Transform;

constexpr int64_t kLanes = 8;
// Elements of all lanes together up to which they are worth more than the cache that they fill.
constexpr int64_t kLanesLimit = 32768;

// Lines that are transformed along one dimension. `n` is the length of the signal; the real side's.
struct Job {
  const Strided& to;
  const Strided& from;
  int dim;
  int64_t n;
  bool forward;
  double scale;

  int64_t lanes() const {
    const int64_t lines = to.numel() / line_length(to, dim);
    return lines >= kLanes && n * kLanes <= kLanesLimit ? kLanes : 1;
  }
};

// Calls f(to, from, count) for every group of `lanes` lines, the last of which may be smaller.
template <class F>
void for_each_group(const Job& job, int64_t lanes, F&& f) {
  char *to[kLanes], *from[kLanes];
  int64_t count = 0;
  for_each_line(job.to, job.from, job.dim, [&](char* const* at) {
    to[count] = at[0], from[count] = at[1];
    if (++count == lanes) {
      f(to, from, count);
      count = 0;
    }
  });
  if (count > 0) f(to, from, count);
}

// The first `n` complex numbers of each line to (and from) their places among the lanes.
template <class T>
void read_complex(const Job& job, char* const* from, int64_t count, int64_t lanes, int64_t n,
                  const Parts<T>& to) {
  const int64_t stride = line_stride(job.from, job.dim);
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t i = 0; i < n; ++i) {
      const auto* const number = reinterpret_cast<const T*>(from[lane] + i * stride);
      to.re[i * lanes + lane] = number[0], to.im[i * lanes + lane] = number[1];
    }
  }
}

template <class T>
void write_complex(const Job& job, char* const* to, int64_t count, int64_t lanes, int64_t n,
                   const Parts<T>& from) {
  const int64_t stride = line_stride(job.to, job.dim);
  const T scale = static_cast<T>(job.scale);
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t i = 0; i < n; ++i) {
      auto* const number = reinterpret_cast<T*>(to[lane] + i * stride);
      number[0] = from.re[i * lanes + lane] * scale, number[1] = from.im[i * lanes + lane] * scale;
    }
  }
}

// The second half of a real signal's spectrum mirrors the first.
template <class T>
void write_mirrored(const Job& job, char* const* to, int64_t count) {
  const int64_t stride = line_stride(job.to, job.dim);
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t k = job.n / 2 + 1; k < job.n; ++k) {
      auto* const number = reinterpret_cast<T*>(to[lane] + k * stride);
      const auto* const other = reinterpret_cast<const T*>(to[lane] + (job.n - k) * stride);
      number[0] = other[0], number[1] = -other[1];
    }
  }
}

template <class T>
bool complex_to_complex(KernelRuntimeContext& ctx, const Job& job) {
  Transform<T> transform;
  const int64_t lanes = job.lanes();
  if (!transform.prepare(ctx, job.n, lanes)) return false;
  for_each_group(job, lanes, [&](char* const* to, char* const* from, int64_t count) {
    read_complex(job, from, count, lanes, job.n, transform.input());
    write_complex(job, to, count, lanes, job.n, transform.run(job.forward).values);
  });
  return true;
}

// A real signal of even length is taken as half as many complex numbers: even elements are their
// real parts, odd ones the imaginary. `w` holds e^(-2πi k/n).
template <class T>
void split_spectrum(const Parts<T>& z, const Parts<T>& w, int64_t half, int64_t lanes,
                    const Parts<T>& x) {
  for (int64_t k = 0; k <= half; ++k) {
    const int64_t here = (k == half ? 0 : k) * lanes, there = (k == 0 ? 0 : half - k) * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const T even_re = (z.re[here + l] + z.re[there + l]) / 2;
      const T even_im = (z.im[here + l] - z.im[there + l]) / 2;
      const T odd_re = (z.im[here + l] + z.im[there + l]) / 2;
      const T odd_im = (z.re[there + l] - z.re[here + l]) / 2;
      x.re[k * lanes + l] = even_re + w.re[k] * odd_re - w.im[k] * odd_im;
      x.im[k * lanes + l] = even_im + w.re[k] * odd_im + w.im[k] * odd_re;
    }
  }
}

// The inverse of split_spectrum but for a factor of two, by which a sum over half as many elements
// is too small.
template <class T>
void join_spectrum(const Parts<T>& x, const Parts<T>& w, int64_t half, int64_t lanes,
                   const Parts<T>& z) {
  for (int64_t k = 0; k < half; ++k) {
    const int64_t here = k * lanes, there = (half - k) * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const T even_re = x.re[here + l] + x.re[there + l];
      const T even_im = x.im[here + l] - x.im[there + l];
      const T gap_re = x.re[here + l] - x.re[there + l];
      const T gap_im = x.im[here + l] + x.im[there + l];
      const T odd_re = gap_re * w.re[k] + gap_im * w.im[k];
      const T odd_im = gap_im * w.re[k] - gap_re * w.im[k];
      z.re[here + l] = even_re - odd_im;
      z.im[here + l] = even_im + odd_re;
    }
  }
}

// A transform between a real signal and its spectrum.
template <class T>
struct RealTransform {
  Transform<T> transform;
  bool folded = false;
  int64_t lanes = 1;
  Parts<T> w;

  bool prepare(KernelRuntimeContext& ctx, const Job& job) {
    lanes = job.lanes();
    folded = job.n % 2 == 0;
    if (!transform.prepare(ctx, folded ? job.n / 2 : job.n, lanes)) return false;
    if (!folded) return true;
    return fft::unit_roots(ctx, job.n, job.n / 2 + 1, &w);
  }
};

template <class T>
void read_real(const Job& job, char* const* from, int64_t count, const RealTransform<T>& real) {
  const int64_t stride = line_stride(job.from, job.dim), lanes = real.lanes;
  const Parts<T>& to = real.transform.input();
  const auto at = [&](int64_t lane, int64_t i) {
    return *reinterpret_cast<const T*>(from[lane] + i * stride);
  };
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t i = 0; i < real.transform.length(); ++i) {
      to.re[i * lanes + lane] = real.folded ? at(lane, 2 * i) : at(lane, i);
      to.im[i * lanes + lane] = real.folded ? at(lane, 2 * i + 1) : T(0);
    }
  }
}

template <class T>
bool real_to_complex(KernelRuntimeContext& ctx, const Job& job) {
  RealTransform<T> real;
  if (!real.prepare(ctx, job)) return false;
  const bool whole = line_length(job.to, job.dim) == job.n;
  for_each_group(job, real.lanes, [&](char* const* to, char* const* from, int64_t count) {
    read_real(job, from, count, real);
    const auto result = real.transform.run(true);
    if (real.folded) {
      split_spectrum(result.values, real.w, job.n / 2, real.lanes, result.spare);
    }
    write_complex(job, to, count, real.lanes, job.n / 2 + 1,
                  real.folded ? result.spare : result.values);
    if (whole) write_mirrored<T>(job, to, count);
  });
  return true;
}

// The spectrum as the transform takes it. What a real signal cannot have, imaginary parts of the
// mean and of the highest frequency, is passed over.
template <class T>
void read_spectrum(const Job& job, char* const* from, int64_t count, const RealTransform<T>& real) {
  const int64_t lanes = real.lanes, half = job.n / 2;
  const Parts<T>& input = real.transform.input();
  const Parts<T>& x = real.folded ? real.transform.spare() : input;
  read_complex(job, from, count, lanes, half + 1, x);
  for (int64_t l = 0; l < lanes; ++l) {
    x.im[l] = 0;
    if (real.folded) x.im[half * lanes + l] = 0;
  }
  if (real.folded) return join_spectrum(x, real.w, half, lanes, input);
  for (int64_t k = half + 1; k < job.n; ++k) {
    for (int64_t l = 0; l < lanes; ++l) {
      x.re[k * lanes + l] = x.re[(job.n - k) * lanes + l];
      x.im[k * lanes + l] = -x.im[(job.n - k) * lanes + l];
    }
  }
}

template <class T>
bool complex_to_real(KernelRuntimeContext& ctx, const Job& job) {
  RealTransform<T> real;
  if (!real.prepare(ctx, job)) return false;
  const int64_t stride = line_stride(job.to, job.dim), lanes = real.lanes;
  const T scale = static_cast<T>(job.scale);
  for_each_group(job, lanes, [&](char* const* to, char* const* from, int64_t count) {
    read_spectrum(job, from, count, real);
    const Parts<T> x = real.transform.run(false).values;
    for (int64_t lane = 0; lane < count; ++lane) {
      for (int64_t i = 0; i < job.n; ++i) {
        const T value = !real.folded ? x.re[i * lanes + lane]
                                     : (i % 2 == 0 ? x.re : x.im)[i / 2 * lanes + lane];
        *reinterpret_cast<T*>(to[lane] + i * stride) = value * scale;
      }
    }
  });
  return true;
}

using Runner = bool (*)(KernelRuntimeContext&, const Job&);
// By the dtype of the complex side.
Runner choose(ScalarType dtype, Runner single, Runner twice) {
  return dtype == ScalarType::ComplexFloat ? single : twice;
}

bool expect_complex(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, is_complex(tensor.scalar_type()),
                   "%s must be complex64 or complex128, found %s", name,
                   name_of(tensor.scalar_type()));
}

// `complex_side` holds pairs of what `real_side` holds.
bool expect_parts(KernelRuntimeContext& ctx, const Tensor& complex_side, const Tensor& real_side) {
  const ScalarType dtype = complex_side.scalar_type(), part = real_side.scalar_type();
  return ET_EXPECT(ctx,
                   (dtype == ScalarType::ComplexFloat && part == ScalarType::Float) ||
                       (dtype == ScalarType::ComplexDouble && part == ScalarType::Double),
                   "float32 goes with complex64 and float64 with complex128, found %s with %s",
                   name_of(part), name_of(dtype));
}

// The dimensions, in the order of the list, and the factor of the normalization over `signal`.
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

// Along the dimensions of the plan up to `count`, from `from` to `to` and then within `to`.
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
  if (!expect_parts(ctx, out, self) || !make_plan(ctx, shape, dim, normalization, &plan) ||
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
  if (!expect_parts(ctx, self, out) ||
      !ET_EXPECT(ctx, !dim.empty(), "dim must name a dimension, found none") ||
      !expect_dim(ctx, dim[dim.size() - 1], shape.rank, &last) ||
      !ET_EXPECT(
          ctx, last < shape.rank && last_dim_size > 0 && shape.sizes[last] == last_dim_size / 2 + 1,
          "last_dim_size %" PRId64 " does not go with a spectrum of shape %s", last_dim_size,
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
  const Runner run = choose(from.dtype, complex_to_real<float>, complex_to_real<double>);
  run(ctx, {to, from, last, last_dim_size, false, plan.scale});
  return out;
}

namespace {

// Complex memory as that of its parts, in a last dimension of 2.
Strided parts_of(const Strided& memory) {
  Strided parts = memory;
  parts.dtype = memory.dtype == ScalarType::ComplexFloat ? ScalarType::Float : ScalarType::Double;
  parts.append(2, parts.element_size());
  return parts;
}

Strided part_of(const Strided& memory, int which) {
  Strided part = parts_of(memory);
  part.narrow(memory.rank, which, 1);
  part.remove(memory.rank);
  return part;
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

Tensor& _conj_physical_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self) ||
      !copy(ctx, Strided(out), Strided(self)) || !is_complex(out.scalar_type())) {
    return out;
  }
  const Strided imaginary = part_of(Strided(out), 1);
  const LoopNest nest(imaginary, imaginary);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); ++i) {
      char* const sign = at[0] + i * nest.stride(0);
      if (imaginary.dtype == ScalarType::Float) {
        *reinterpret_cast<float*>(sign) = -*reinterpret_cast<const float*>(sign);
      } else {
        *reinterpret_cast<double*>(sign) = -*reinterpret_cast<const double*>(sign);
      }
    }
  });
  return out;
}

}  // namespace executorch::kernels::portable
