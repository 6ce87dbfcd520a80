// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators along lines of one dimension: where the largest or smallest element is, and running
// sums and products.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/reduce/complex_reduction.h>
#include <executorch/kernels/portable/reduce/extreme.h>
#include <executorch/kernels/portable/reduce/reduction.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

/// The first of the best elements so far; NaN is better than all.
template <class C>
struct Best {
  C value{};
  int64_t index = -1;

  bool is_worse_than(C x, bool largest) const {
    return index < 0 || (value == value && (x != x || (largest ? x > value : x < value)));
  }
  void take(C x, int64_t i, bool largest) {
    if (!is_worse_than(x, largest)) return;
    value = x;
    index = i;
  }
};

/// The first place of the best element of a run. If a run has a NaN, the NaN is the best.
template <class C>
int64_t place_of(C best, const C* x, int64_t n) {
  constexpr int64_t kRun = 32;
  using Flag = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;  // for vectors
  const auto is_best = [best](C e) { return (e == best) | (e != e); };
  int64_t i = 0;
  for (Flag any_best = 0; i + kRun <= n; i += kRun) {
    for (int64_t j = 0; j < kRun; ++j) any_best |= static_cast<Flag>(is_best(x[i + j]));
    if (any_best != 0) break;
  }
  while (i < n && !is_best(x[i])) ++i;
  return i;
}

template <class C>
void take_run(Best<C>* best, const C* x, int64_t n, int64_t first, bool largest) {
  const C value = largest ? best_of<true>(x, n) : best_of<false>(x, n);
  if (best->is_worse_than(value, largest)) *best = {value, first + place_of(value, x, n)};
}

template <class C>
Best<C> best_of_line(Reader<C>& reader, const char* line, int64_t length, int64_t stride,
                     bool largest) {
  Best<C> best;
  for (int64_t first = 0; first < length; first += kBlock) {
    const int64_t n = length - first < kBlock ? length - first : kBlock;
    in_vectors([](Best<C>* so_far, const C* x, int64_t count, int64_t at,
                  bool is_largest) { take_run(so_far, x, count, at, is_largest); },
               &best, reader(line + first * stride, stride, n), n, first, largest);
  }
  return best;
}

/// Searches n <= kBlock adjacent lines at a time. Places are integers of C's width, so that the
/// compiler vectorizes the loops.
template <class C>
struct LineBlock {
  using Place = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;
  C values[kBlock];
  Place places[kBlock];

  template <bool kLargest>
  void search(Reader<C>& reader, const char* from, int64_t stride, int64_t n, int64_t length,
              int64_t line_stride) {
    for (int64_t j = 0; j < n; ++j) places[j] = 0;
    std::copy_n(reader(from, stride, n), n, values);
    for (int64_t i = 1; i < length; ++i) {
      const C* const x = reader(from + i * line_stride, stride, n);
      const auto place = static_cast<Place>(i);
      for (int64_t j = 0; j < n; ++j) {
        const C value = values[j];
        const bool is_better = !(kLargest ? x[j] <= value : x[j] >= value) & (value == value);
        values[j] = is_better ? x[j] : value;
        places[j] = is_better ? place : places[j];
      }
    }
  }
};

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

/// A result in self's shape: its dimension `dim` has size 1, whether it was kept or not.
Strided with_dim(const Tensor& result, const Tensor& self, int dim) {
  Strided memory(result);
  if (memory.rank < self.dim()) memory.insert(dim, 1, 0);
  return memory;
}

bool expect_searchable(KernelRuntimeContext& ctx, const Tensor& self) {
  return ET_EXPECT(ctx, kind_of(self.scalar_type()) != Kind::Unsupported, "self has %s",
                   name_of(self.scalar_type()));
}

template <class C>
void search_lines(const Strided& places, const Strided& extremes, const Strided& from, int dim,
                  bool largest, bool with_values) {
  const int64_t length = line_length(from, dim), step = line_stride(from, dim);
  const LoopNest nest(without(places, dim), without(extremes, dim), without(from, dim));
  const int64_t stride = nest.stride(2);
  const bool in_blocks = nest.row() > 1 && step > stride && length < INT32_MAX;
  Reader<C> reader(from.dtype);
  const Convert writer = store(compute_type<C>, extremes.dtype);
  LineBlock<C> lines;
  const auto one = [&](char* place, char* value, const char* line) {
    const Best<C> best = best_of_line<C>(reader, line, length, step, largest);
    *reinterpret_cast<int64_t*>(place) = best.index;
    if (with_values) write<C>(best.value, value, extremes.dtype);
  };
  const auto many = [&](char* place, char* value, const char* line, int64_t n) {
    largest ? lines.template search<true>(reader, line, stride, n, length, step)
            : lines.template search<false>(reader, line, stride, n, length, step);
    for (int64_t j = 0; j < n; ++j) {
      *reinterpret_cast<int64_t*>(place + j * nest.stride(0)) = lines.places[j];
    }
    if (!with_values) return;
    writer(value, nest.stride(1), reinterpret_cast<const char*>(lines.values), sizeof(C), n);
  };
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += in_blocks ? kBlock : 1) {
      char* const place = at[0] + i * nest.stride(0);
      char* const value = at[1] + i * nest.stride(1);
      const char* const line = at[2] + i * stride;
      in_blocks ? many(place, value, line, std::min(kBlock, nest.row() - i))
                : one(place, value, line);
    }
  });
}

/// Searches along one dimension; writes places to `indices` and elements to `values` if not null.
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
  const Strided extremes = values != nullptr ? with_dim(*values, self, d) : places;
  visit_compute(compute_of(self.scalar_type()), [&](auto tag) {
    search_lines<ET_TYPE_OF(tag)>(places, extremes, from, d, largest, values != nullptr);
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

/// Integers run modulo 2^64, floating point in double.
template <class C, class Step>
void scan_lines(const Strided& from, const Strided& to, int dim, C start, Step step) {
  Reader<C> reader(from.dtype);
  const Convert writer = store(compute_type<C>, to.dtype);
  const int64_t length = line_length(from, dim), in = line_stride(from, dim),
                out = line_stride(to, dim);
  const LoopNest nest(without(to, dim), without(from, dim));
  C block[kBlock];
  const auto one = [&](char* target, const char* line) {
    C total = start;
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = length - first < kBlock ? length - first : kBlock;
      const C* const x = reader(line + first * in, in, n);
      for (int64_t i = 0; i < n; ++i) block[i] = total = step(total, x[i]);
      writer(target + first * out, out, reinterpret_cast<const char*>(block), sizeof(C), n);
    }
  };
  // Adjacent lines are scanned together; the block has their totals.
  const auto many = [&](char* target, const char* line, int64_t n) {
    std::fill_n(block, n, start);
    for (int64_t i = 0; i < length; ++i) {
      const C* const x = reader(line + i * in, nest.stride(1), n);
      for (int64_t j = 0; j < n; ++j) block[j] = step(block[j], x[j]);
      writer(target + i * out, nest.stride(0), reinterpret_cast<const char*>(block), sizeof(C), n);
    }
  };
  const bool in_blocks = nest.row() > 1 && in > nest.stride(1);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += in_blocks ? kBlock : 1) {
      char* const target = at[0] + i * nest.stride(0);
      const char* const line = at[1] + i * nest.stride(1);
      in_blocks ? many(target, line, std::min(kBlock, nest.row() - i)) : one(target, line);
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
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) || !resize_like(ctx, out, self) ||
      out.numel() == 0) {
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

bool is_complex_scan(const Tensor& out) { return has_complex && is_complex(out.scalar_type()); }

Tensor& complex_scan(KernelRuntimeContext& ctx, Running kind, const Tensor& self, int64_t dim,
                     std::optional<ScalarType> dtype, Tensor& out) {
  int d;
  if ((dtype.has_value() && !expect_dtype(ctx, "out", out, *dtype)) ||
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d)) {
    return out;
  }
  scan_complex(ctx, kind, self, d, out);
  return out;
}

/// log(exp(total) + exp(x)), where both may be -infinity.
double add_logarithms(double total, double x) {
  const double larger = total > x || total != total ? total : x;
  const double smaller = larger == total ? x : total;
  const bool plain = larger != larger || smaller != smaller || std::isinf(larger);
  if (plain) return larger != larger ? larger : smaller != smaller ? smaller : larger;
  return larger + std::log1p(std::exp(smaller - larger));
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
  if (is_complex_scan(out)) return complex_scan(ctx, Running::Sum, self, dim, dtype, out);
  return scan(ctx, self, dim, dtype, 0, add_to, out);
}
Tensor& cumprod_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                    std::optional<ScalarType> dtype, Tensor& out) {
  if (is_complex_scan(out)) return complex_scan(ctx, Running::Product, self, dim, dtype, out);
  return scan(ctx, self, dim, dtype, 1, multiply_to, out);
}

}  // namespace executorch::kernels::portable
