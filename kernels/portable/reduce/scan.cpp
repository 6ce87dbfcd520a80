// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Running sums and products along a dimension.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/lines.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>

namespace executorch::kernels::portable {
namespace {

constexpr auto add_to = [](auto total, auto x) { return plus(total, x); };
constexpr auto multiply_to = [](auto total, auto x) { return times(total, x); };

// Integers run modulo 2^64, floating point in double.
template <class C, class Step>
void scan_lines(const Strided& from, const Strided& to, int dim, C start, Step step) {
  Reader<C> reader(from.dtype);
  const Convert writer = store(compute_type<C>, to.dtype);
  const int64_t length = line_length(from, dim), in = line_stride(from, dim),
                out = line_stride(to, dim);
  C block[kBlock];
  for_each_line(to, from, dim, [&](char* const* at) {
    C total = start;
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = length - first < kBlock ? length - first : kBlock;
      const C* const x = reader(at[1] + first * in, in, n);
      for (int64_t i = 0; i < n; ++i) block[i] = total = step(total, x[i]);
      writer(at[0] + first * out, out, reinterpret_cast<const char*>(block), sizeof(C), n);
    }
  });
}

template <class Step>
Tensor& scan(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
             std::optional<ScalarType> dtype, int start, Step step, Tensor& out) {
  int d;
  if ((dtype.has_value() && !expect_dtype(ctx, "out", out, *dtype)) ||
      !ET_EXPECT(ctx,
                 kind_of(self.scalar_type()) != Kind::Unsupported &&
                     kind_of(out.scalar_type()) != Kind::Unsupported,
                 "found self of %s and out of %s", name_of(self.scalar_type()),
                 name_of(out.scalar_type())) ||
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) || !resize_like(ctx, out, self)) {
    return out;
  }
  const Strided from(self), to(out);
  if (is_integral(out.scalar_type())) {
    scan_lines<int64_t>(from, to, d, start, step);
  } else {
    scan_lines<double>(from, to, d, start, step);
  }
  return out;
}

}  // namespace

Tensor& cumsum_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                   std::optional<ScalarType> dtype, Tensor& out) {
  return scan(ctx, self, dim, dtype, 0, add_to, out);
}
Tensor& cumprod_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                    std::optional<ScalarType> dtype, Tensor& out) {
  return scan(ctx, self, dim, dtype, 1, multiply_to, out);
}

}  // namespace executorch::kernels::portable
