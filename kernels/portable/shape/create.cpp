// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tensors made of a number: constants, ranges, the identity; and the triangles of matrices.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

Tensor& constant(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, const char* name,
                 const Scalar& value, Tensor& out) {
  if (ET_EXPECT(ctx, Shape::fits(size), "size must have at most %d items, found %zu", kMaxRank,
                size.size()) &&
      resize(ctx, out, Shape(size)) && expect_fill(ctx, name, value, out)) {
    fill(ctx, Strided(out), value);
  }
  return out;
}

Tensor& constant_like(KernelRuntimeContext& ctx, const Tensor& self, const char* name,
                      const Scalar& value, Tensor& out) {
  if (resize_like(ctx, out, self) && expect_fill(ctx, name, value, out)) {
    fill(ctx, Strided(out), value);
  }
  return out;
}

/// start, start + step … to memory, computed as C: integers exactly, floating point in double.
template <class C>
void count_up(const Strided& to, C start, C step, int64_t n) {
  const Convert writer = store(compute_type<C>, to.dtype);
  const int64_t stride = to.rank > 0 ? to.strides[0] : 0;
  C block[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    for (int64_t i = 0; i < count; ++i) {
      // Integers wrap: a product may exceed int64 where the sum does not.
      block[i] = plus(start, times(static_cast<C>(first + i), step));
    }
    writer(to.data + first * stride, stride, reinterpret_cast<const char*>(block), sizeof(C),
           count);
  }
}

/// The length of a range, -1 where eager refuses it. Eager counts in int64 for an int64 result,
/// whatever the numbers, and in double for others.
double range_length(const Scalar& first, const Scalar& last, const Scalar& by, ScalarType dtype) {
  const double start = as_double(first), end = as_double(last), step = as_double(by);
  if (!std::isfinite(start) || !std::isfinite(end) || step == 0 || !std::isfinite(step) ||
      (end - start) * step < 0) {
    return -1;
  }
  if (dtype != ScalarType::Long) return std::ceil((end - start) / step);
  const double whole = std::trunc(step);
  const auto distance = static_cast<double>(minus(as_int(last), as_int(first)));
  return whole == 0 ? -1 : std::ceil(distance / whole);
}

Tensor& range(KernelRuntimeContext& ctx, const Scalar& start, const Scalar& end, const Scalar& step,
              Tensor& out) {
  const double from = as_double(start), to = as_double(end), by = as_double(step);
  const double length = range_length(start, end, step, out.scalar_type());
  // The dtype in which ATen counts.
  const ScalarType dtype = out.scalar_type(), counted = is_integral(dtype) ? ScalarType::Long
                                                        : dtype == ScalarType::Float
                                                            ? ScalarType::Double
                                                            : opmath_dtype(dtype);
  if (!expect_number(ctx, "out", out) || !expect_fits(ctx, "start", start, counted) ||
      !expect_fits(ctx, "end", end, counted) || !expect_fits(ctx, "step", step, counted) ||
      !ET_EXPECT(ctx, length >= 0, "start %g, end %g and step %g make no range of %s", from, to, by,
                 name_of(out.scalar_type())) ||
      !ET_EXPECT(ctx, length <= INT32_MAX && out.dim() == 1,
                 "a range of %g elements needs an out of rank 1, found rank %d", length,
                 static_cast<int>(out.dim()))) {
    return out;
  }
  Shape shape;
  shape.append(static_cast<int64_t>(length));
  if (!resize(ctx, out, shape)) return out;
  const bool exact = !start.isFloatingPoint() && !end.isFloatingPoint() && !step.isFloatingPoint();
  if (exact || is_integral(out.scalar_type())) {
    count_up<int64_t>(Strided(out), as_int(start), as_int(step), shape.sizes[0]);
  } else {
    count_up<double>(Strided(out), from, by, shape.sizes[0]);
  }
  return out;
}

Tensor& identity(KernelRuntimeContext& ctx, int64_t rows, int64_t columns, Tensor& out) {
  const int64_t size[] = {rows, columns};
  constant(ctx, ArrayRef<int64_t>(size, 2), "fill_value", Scalar(int64_t(0)), out);
  if (ctx.failure_state() != Error::Ok) return out;
  Strided diagonal(out);
  diagonal.sizes[0] = rows < columns ? rows : columns;
  diagonal.strides[0] += diagonal.strides[1];
  diagonal.rank = 1;
  fill(ctx, diagonal, Scalar(int64_t(1)));
  return out;
}

}  // namespace

Tensor& full_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, const Scalar& fill_value,
                 Tensor& out) {
  return constant(ctx, size, "fill_value", fill_value, out);
}
Tensor& zeros_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, Tensor& out) {
  return constant(ctx, size, "fill_value", Scalar(int64_t(0)), out);
}
Tensor& ones_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, Tensor& out) {
  return constant(ctx, size, "fill_value", Scalar(int64_t(1)), out);
}
Tensor& empty_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, std::optional<MemoryFormat>,
                  Tensor& out) {
  if (ET_EXPECT(ctx, Shape::fits(size), "size must have at most %d items, found %zu", kMaxRank,
                size.size())) {
    resize(ctx, out, Shape(size));
  }
  return out;
}
/// The strides are those of out, which were set when memory was planned.
Tensor& empty_strided_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size,
                          ArrayRef<int64_t> stride, Tensor& out) {
  if (!ET_EXPECT(ctx, size.size() == stride.size(),
                 "size and stride must be of one length, found %zu and %zu", size.size(),
                 stride.size())) {
    return out;
  }
  return empty_out(ctx, size, std::nullopt, out);
}

Tensor& full_like_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& fill_value,
                      std::optional<MemoryFormat>, Tensor& out) {
  return constant_like(ctx, self, "fill_value", fill_value, out);
}
Tensor& zeros_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat>,
                       Tensor& out) {
  return constant_like(ctx, self, "fill_value", Scalar(int64_t(0)), out);
}
Tensor& ones_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat>,
                      Tensor& out) {
  return constant_like(ctx, self, "fill_value", Scalar(int64_t(1)), out);
}
Tensor& empty_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat>,
                       Tensor& out) {
  resize_like(ctx, out, self);
  return out;
}
Tensor& fill_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& value,
                        Tensor& out) {
  return constant_like(ctx, self, "value", value, out);
}
Tensor& fill_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& value,
                        Tensor& out) {
  if (!ET_EXPECT(ctx, value.dim() == 0, "value must have rank 0, found %d",
                 static_cast<int>(value.dim())) ||
      !resize_like(ctx, out, self)) {
    return out;
  }
  Strided repeated(value);
  const Strided to(out);
  for (int d = 0; d < to.rank; ++d) repeated.append(to.sizes[d], 0);
  copy(ctx, to, repeated);
  return out;
}
Tensor& scalar_tensor_out(KernelRuntimeContext& ctx, const Scalar& s, Tensor& out) {
  return constant(ctx, ArrayRef<int64_t>(), "s", s, out);
}

Tensor& arange_out(KernelRuntimeContext& ctx, const Scalar& end, Tensor& out) {
  return range(ctx, Scalar(int64_t(0)), end, Scalar(int64_t(1)), out);
}
Tensor& arange_start_out(KernelRuntimeContext& ctx, const Scalar& start, const Scalar& end,
                         const Scalar& step, Tensor& out) {
  return range(ctx, start, end, step, out);
}

Tensor& eye_out(KernelRuntimeContext& ctx, int64_t n, Tensor& out) {
  return identity(ctx, n, n, out);
}
Tensor& eye_m_out(KernelRuntimeContext& ctx, int64_t n, int64_t m, Tensor& out) {
  return identity(ctx, n, m, out);
}

namespace {

int64_t clip(int64_t value, int64_t limit) { return value < 0 ? 0 : value > limit ? limit : value; }

/// Copies self and clears each row, in all matrices at once, after (lower) or before (upper) a
/// column.
Tensor& triangle(KernelRuntimeContext& ctx, const Tensor& self, int64_t diagonal, bool lower,
                 Tensor& out) {
  if (!ET_EXPECT(ctx, self.dim() >= 2, "self must have rank 2 or more, found %d",
                 static_cast<int>(self.dim())) ||
      !expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self)) {
    return out;
  }
  const Strided to(out);
  if (to.numel() == 0 || !copy(ctx, to, Strided(self))) return out;
  const int row = to.rank - 2, column = to.rank - 1;
  const int64_t rows = to.sizes[row], columns = to.sizes[column];
  const int64_t shift = std::clamp(diagonal, -rows, columns);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t split = clip(lower ? r + shift + 1 : r + shift, columns);
    Strided cleared = to;
    cleared.narrow(row, r, 1);
    cleared.narrow(column, lower ? split : 0, lower ? columns - split : split);
    if (!fill(ctx, cleared, Scalar(int64_t(0)))) return out;
  }
  return out;
}

}  // namespace

Tensor& tril_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t diagonal, Tensor& out) {
  return triangle(ctx, self, diagonal, true, out);
}
Tensor& triu_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t diagonal, Tensor& out) {
  return triangle(ctx, self, diagonal, false, out);
}

}  // namespace executorch::kernels::portable
