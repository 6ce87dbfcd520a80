// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/reduce/complex_reduction.h>

#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/pointwise/complex_math.h>
#include <executorch/kernels/portable/reduce/reduction.h>

#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

constexpr int64_t kRun = kBlock / 2;  // of 16 bytes each

/// Calls f(value) for each element that is reduced to one result.
template <class F>
void for_each_value(const ComplexReader& reader, const LoopNest& reduced, int64_t shift, F&& f) {
  Complex block[kRun];
  const int64_t stride = reduced.stride(1);
  reduced.for_each_row([&](char* const* at) {
    for (int64_t first = 0; first < reduced.row(); first += kRun) {
      const int64_t n = std::min(kRun, reduced.row() - first);
      reader(at[1] + shift + first * stride, stride, n, block);
      for (int64_t i = 0; i < n; ++i) f(block[i]);
    }
  });
}

class ComplexFold {
 public:
  ComplexFold(Fold fold, int64_t count, double correction)
      : fold_(fold), count_(static_cast<double>(count)), correction_(correction) {}

  template <class ForEach>
  Complex operator()(ForEach for_each) const {
    switch (fold_) {
      case Fold::Sum:
        return sum(for_each);
      case Fold::Mean:
        return sum(for_each) / count_;
      case Fold::Product: {
        Complex total = 1;
        for_each([&](Complex z) { total = complex_math::product(total, z); });
        return total;
      }
      default:
        return spread(for_each);
    }
  }

 private:
  template <class ForEach>
  static Complex sum(ForEach for_each) {
    Complex total = 0;
    for_each([&](Complex z) { total += z; });
    return total;
  }
  template <class ForEach>
  Complex spread(ForEach for_each) const {
    const Complex mean = sum(for_each) / count_;
    double squares = 0;
    for_each([&](Complex z) { squares += std::norm(z - mean); });
    const double freedom = count_ - correction_;
    const double variance = count_ > 0 ? squares / (freedom > 0 ? freedom : 0)
                                       : std::numeric_limits<double>::quiet_NaN();
    return fold_ == Fold::Deviation ? std::sqrt(variance) : variance;
  }

  Fold fold_;
  double count_, correction_;
};

}  // namespace

void reduce_complex(KernelRuntimeContext& ctx, Fold fold, const Tensor& self, uint32_t mask,
                    bool keepdim, Tensor& out, double correction) {
  const ScalarType dtype = out.scalar_type();
  const bool gives_complex = fold == Fold::Sum || fold == Fold::Mean || fold == Fold::Product;
  if (!ET_EXPECT(ctx, is_complex(dtype) == gives_complex, "cannot reduce %s to %s",
                 name_of(self.scalar_type()), name_of(dtype)) ||
      !resize(ctx, out, reduced_shape(self, mask, keepdim))) {
    return;
  }
  const Parts parts(self, mask, keepdim, out);
  const ComplexReader reader(parts.kept.dtype);
  const ComplexWriter writer(dtype);
  if (!ET_EXPECT(ctx, reader.valid() && writer.valid(), "cannot reduce %s to %s",
                 name_of(self.scalar_type()), name_of(dtype))) {
    return;
  }
  const LoopNest reduced(parts.reduced, parts.reduced);
  const ComplexFold compute(fold, reduced_count(self, mask), correction);
  IndexWalk results(parts.out), starts(parts.kept);
  for (int64_t left = out.numel(); left > 0; --left) {
    const int64_t shift = starts.next() - parts.reduced.data;
    const Complex result =
        compute([&](auto f) { for_each_value(reader, reduced, shift, std::move(f)); });
    writer(results.next(), 0, &result, 1);
  }
}

void scan_complex(KernelRuntimeContext& ctx, Running kind, const Tensor& self, int dim,
                  Tensor& out) {
  if (!resize_like(ctx, out, self) || out.numel() == 0) return;
  const Strided from(self), to(out);
  const ComplexReader reader(from.dtype);
  const ComplexWriter writer(to.dtype);
  if (!ET_EXPECT(ctx, reader.valid() && writer.valid(), "found self of %s and out of %s",
                 name_of(from.dtype), name_of(to.dtype))) {
    return;
  }
  const int64_t length = line_length(from, dim);
  const int64_t step = line_stride(from, dim), to_step = line_stride(to, dim);
  Complex block[kRun];
  for_each_line(to, from, dim, [&](char* const* at) {
    Complex total = kind == Running::Sum ? 0 : 1;
    for (int64_t first = 0; first < length; first += kRun) {
      const int64_t n = std::min(kRun, length - first);
      reader(at[1] + first * step, step, n, block);
      for (int64_t i = 0; i < n; ++i) {
        total = kind == Running::Sum ? total + block[i] : complex_math::product(total, block[i]);
        block[i] = total;
      }
      writer(at[0] + first * to_step, to_step, block, n);
    }
  });
}

}  // namespace executorch::kernels::portable
