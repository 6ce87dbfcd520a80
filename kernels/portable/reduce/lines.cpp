// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators along lines of one dimension: where the largest or smallest element is, and running
// sums and products.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/index_order.h>
#include <executorch/kernels/portable/loops/lines.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>
#include <executorch/kernels/portable/reduce/reduction.h>

#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

// The first of the best elements so far; NaN is better than all.
template <class C>
struct Best {
  C value{};
  int64_t index = -1;

  void take(C x, int64_t i, bool largest) {
    if (index >= 0 && !(x != x && value == value) && !(largest ? x > value : x < value)) return;
    value = x;
    index = i;
  }
};

// Whether an element is better than `value`, which is not NaN: most runs hold none.
template <class C>
bool holds_better(const C* x, int64_t n, C value, bool largest) {
  uint32_t better = 0;
  if (largest) {
    for (int64_t i = 0; i < n; ++i) better |= !(x[i] <= value);
  } else {
    for (int64_t i = 0; i < n; ++i) better |= !(x[i] >= value);
  }
  return better != 0;
}

template <class C>
Best<C> best_of_line(Reader<C>& reader, const char* line, int64_t length, int64_t stride,
                     bool largest) {
  Best<C> best;
  for (int64_t first = 0; first < length; first += kBlock) {
    const int64_t n = length - first < kBlock ? length - first : kBlock;
    const C* const x = reader(line + first * stride, stride, n);
    if (best.value != best.value) return best;
    if (first > 0 && !holds_better(x, n, best.value, largest)) continue;
    for (int64_t i = 0; i < n; ++i) best.take(x[i], first + i, largest);
  }
  return best;
}

template <class C>
int64_t best_of_all(const Strided& self, bool largest) {
  const int64_t n = self.numel();
  if (in_index_order(self)) {
    Reader<C> reader(self.dtype);
    return best_of_line<C>(reader, self.data, n, self.element_size(), largest).index;
  }
  Best<C> best;
  IndexWalk walk(self);
  for (int64_t i = 0; i < n; ++i) best.take(read<C>(walk.next(), self.dtype), i, largest);
  return best.index;
}

// A result in self's shape: its dimension `dim` has size 1, whether it was kept or not.
Strided with_dim(const Tensor& result, const Tensor& self, int dim) {
  Strided memory(result);
  if (memory.rank < self.dim()) memory.insert(dim, 1, 0);
  return memory;
}

bool expect_searchable(KernelRuntimeContext& ctx, const Tensor& self) {
  return ET_EXPECT(ctx, kind_of(self.scalar_type()) != Kind::Unsupported, "self has %s",
                   name_of(self.scalar_type()));
}

// Along one dimension: places to `indices`, and the elements to `values` where they are asked for.
void search(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool keepdim, bool largest,
            Tensor* values, Tensor& indices) {
  int d;
  if (!expect_searchable(ctx, self) ||
      !expect_dtype(ctx, "the indices' tensor", indices, ScalarType::Long) ||
      (values != nullptr && !expect_same_dtype(ctx, "self", self, "the values' tensor", *values)) ||
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d)) {
    return;
  }
  const Strided from(self);
  const uint32_t mask = uint32_t(1) << d;
  if (!ET_EXPECT(ctx, line_length(from, d) > 0,
                 "no largest or smallest of zero elements: self has shape %s",
                 ShapeText(self).text) ||
      !resize(ctx, indices, reduced_shape(self, mask, keepdim)) ||
      (values != nullptr && !resize(ctx, *values, reduced_shape(self, mask, keepdim)))) {
    return;
  }
  const Strided places = with_dim(indices, self, d);
  const Strided found = values != nullptr ? with_dim(*values, self, d) : places;
  visit_compute(compute_of(self.scalar_type()), [&](auto tag) {
    using C = ET_TYPE_OF(tag);
    Reader<C> reader(from.dtype);
    for_each_line(places, found, from, d, [&](char* const* at) {
      const Best<C> best =
          best_of_line<C>(reader, at[2], line_length(from, d), line_stride(from, d), largest);
      *reinterpret_cast<int64_t*>(at[0]) = best.index;
      if (values != nullptr) write<C>(best.value, at[1], found.dtype);
    });
  });
}

Tensor& arg(KernelRuntimeContext& ctx, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
            bool largest, Tensor& out) {
  if (dim.has_value()) {
    search(ctx, self, *dim, keepdim, largest, nullptr, out);
    return out;
  }
  if (!expect_searchable(ctx, self) || !expect_dtype(ctx, "out", out, ScalarType::Long) ||
      !ET_EXPECT(ctx, self.numel() > 0,
                 "no largest or smallest of zero elements: self has shape %s",
                 ShapeText(self).text) ||
      !resize(ctx, out, reduced_shape(self, ~uint32_t(0), keepdim))) {
    return out;
  }
  visit_compute(compute_of(self.scalar_type()), [&](auto tag) {
    *out.mutable_data_ptr<int64_t>() = best_of_all<ET_TYPE_OF(tag)>(Strided(self), largest);
  });
  return out;
}

}  // namespace

Tensor& argmax_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<int64_t> dim,
                   bool keepdim, Tensor& out) {
  return arg(ctx, self, dim, keepdim, true, out);
}
Tensor& argmin_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<int64_t> dim,
                   bool keepdim, Tensor& out) {
  return arg(ctx, self, dim, keepdim, false, out);
}
std::tuple<Tensor&, Tensor&> max_dim_max(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                         bool keepdim, Tensor& max, Tensor& max_values) {
  search(ctx, self, dim, keepdim, true, &max, max_values);
  return {max, max_values};
}
std::tuple<Tensor&, Tensor&> min_dim_min(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                         bool keepdim, Tensor& min, Tensor& min_indices) {
  search(ctx, self, dim, keepdim, false, &min, min_indices);
  return {min, min_indices};
}

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
             std::optional<ScalarType> dtype, double start, Step step, Tensor& out) {
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
    scan_lines<int64_t>(from, to, d, cast<int64_t>(start), step);
  } else {
    scan_lines<double>(from, to, d, start, step);
  }
  return out;
}

// log(exp(total) + exp(x)), where both may be -infinity.
double add_logarithms(double total, double x) {
  const double most = total > x || total != total ? total : x;
  const double least = most == total ? x : total;
  const bool plain = most != most || least != least || std::isinf(most);
  if (plain) return most != most ? most : least != least ? least : most;
  return most + std::log1p(std::exp(least - most));
}
constexpr auto add_logarithms_to = [](auto total, auto x) {
  return cast<decltype(x)>(add_logarithms(static_cast<double>(total), static_cast<double>(x)));
};

}  // namespace

Tensor& logcumsumexp_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, Tensor& out) {
  if (!ET_EXPECT(ctx, is_floating(self.scalar_type()) && is_floating(out.scalar_type()),
                 "defined on floating point, found self of %s and out of %s",
                 name_of(self.scalar_type()), name_of(out.scalar_type()))) {
    return out;
  }
  return scan(ctx, self, dim, std::nullopt, -std::numeric_limits<double>::infinity(),
              add_logarithms_to, out);
}
Tensor& cumsum_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                   std::optional<ScalarType> dtype, Tensor& out) {
  return scan(ctx, self, dim, dtype, 0, add_to, out);
}
Tensor& cumprod_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                    std::optional<ScalarType> dtype, Tensor& out) {
  return scan(ctx, self, dim, dtype, 1, multiply_to, out);
}

}  // namespace executorch::kernels::portable
