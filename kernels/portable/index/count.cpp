// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Histograms: histc counts elements by ranges of values, bincount by value.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace executorch::kernels::portable {
namespace {

/// Calls f(values, n) for blocks of n elements, converted to C.
template <class C, class F>
void for_each_block(const Strided& from, F&& f) {
  Reader<C> reader(from.dtype);
  const LoopNest nest(from, from);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += kBlock) {
      const int64_t n = std::min(kBlock, nest.row() - i);
      f(reader(at[0] + i * nest.stride(0), nest.stride(0), n), n);
    }
  });
}

/// The smallest and the largest element; NaN if any element is NaN.
template <class C>
void find_range(const Strided& from, C* low, C* high) {
  *low = std::numeric_limits<C>::infinity();
  *high = -*low;
  for_each_block<C>(from, [&](const C* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      *low = (x[i] != x[i]) | (x[i] < *low) ? x[i] : *low;
      *high = (x[i] != x[i]) | (x[i] > *high) ? x[i] : *high;
      if (x[i] != x[i]) return;
    }
  });
}

/// Counts the elements in each of `bins` ranges of equal width, without NaN. Every step is rounded
/// to the dtype, as in eager.
template <class T, class C = Opmath<T>>
void count_in_ranges(const Strided& from, C low, C high, int64_t bins, int64_t* counts) {
  const auto rounded = [](C value) { return static_cast<C>(static_cast<T>(value)); };
  const C count = rounded(static_cast<C>(bins)), width = rounded(high - low);
  std::fill_n(counts, bins, 0);
  for_each_block<C>(from, [&](const C* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (!(x[i] >= low && x[i] <= high)) continue;
      const auto place = cast<int64_t>(rounded(rounded(rounded(x[i] - low) * count) / width));
      ++counts[std::clamp<int64_t>(place, 0, bins - 1)];
    }
  });
}

template <class T, class C = Opmath<T>>
void histogram(KernelRuntimeContext& ctx, const Strided& from, int64_t bins, C low, C high,
               const Strided& to) {
  if (low == high && from.numel() > 0) find_range(from, &low, &high);
  if (low == high) low -= 1, high += 1;
  if (!ET_EXPECT(ctx, std::isfinite(low) && std::isfinite(high), "the range [%g, %g] is not finite",
                 double(low), double(high)) ||
      !ET_EXPECT(ctx, low < high, "max must be larger than min, found [%g, %g]", double(low),
                 double(high))) {
    return;
  }
  auto* const counts = allocate<int64_t>(ctx, bins);
  if (counts == nullptr) return;
  count_in_ranges<T>(from, low, high, bins, counts);
  const Convert writer = store(Compute::Int64, to.dtype);
  writer(to.data, to.strides[0], reinterpret_cast<const char*>(counts), sizeof(int64_t), bins);
}

}  // namespace

Tensor& histc_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t bins, const Scalar& min,
                  const Scalar& max, Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  Shape shape;
  shape.append(bins);
  if (!ET_EXPECT(ctx, is_floating(dtype), "self must be floating point, found %s",
                 name_of(dtype)) ||
      !expect_same_dtype(ctx, "self", self, "out", out) ||
      !ET_EXPECT(ctx, bins > 0 && bins <= INT32_MAX,
                 "bins must be from 1 to 2^31 - 1, found %" PRId64, bins) ||
      !expect_fits(ctx, "min", min, dtype) || !expect_fits(ctx, "max", max, dtype) ||
      !resize(ctx, out, shape)) {
    return out;
  }
  visit(dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (is_half<T> || std::is_floating_point_v<T>) {
      const auto bound = [](const Scalar& number) {
        return static_cast<Opmath<T>>(static_cast<T>(static_cast<Opmath<T>>(as_double(number))));
      };
      histogram<T>(ctx, Strided(self), bins, bound(min), bound(max), Strided(out));
    }
  });
  return out;
}

namespace {

/// Adds the weight of each value (1 if `weights` is null) to the value's count. Checks the values
/// again: they may share memory with the counts, which were cleared.
template <class W>
void add_up(KernelRuntimeContext& ctx, const Strided& values, const Strided* weights,
            const Strided& to) {
  auto* const counts = reinterpret_cast<W*>(to.data);
  for (int64_t i = 0; i < values.numel(); ++i) {
    const auto value = read<int64_t>(values.data + i * values.strides[0], values.dtype);
    if (!expect_within(ctx, value, to.sizes[0])) return;
    counts[value] += weights == nullptr
                         ? W(1)
                         : read<W>(weights->data + i * weights->strides[0], weights->dtype);
  }
}

bool expect_weights(KernelRuntimeContext& ctx, const Strided& values, const Tensor& weights) {
  return ET_EXPECT(ctx, weights.dim() == 1 && weights.numel() == values.numel(),
                   "weights must have the shape of self, found %s", ShapeText(weights).text) &&
         expect_number(ctx, "weights", weights);
}

}  // namespace

Tensor& bincount_out(KernelRuntimeContext& ctx, const Tensor& self,
                     const std::optional<Tensor>& weights, int64_t minlength, Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, self.dim() == 1 && kind_of(dtype) == Kind::Integer,
                 "self must be a vector of integers, found %s of shape %s", name_of(dtype),
                 ShapeText(self).text) ||
      !ET_EXPECT(ctx, minlength >= 0 && minlength <= INT32_MAX,
                 "minlength must be from 0 to 2^31 - 1, found %" PRId64, minlength)) {
    return out;
  }
  const Strided values(self);
  const bool weighed = weights.has_value() && values.numel() > 0;
  if (weighed && !expect_weights(ctx, values, *weights)) return out;
  const ScalarType result = !weighed                                      ? ScalarType::Long
                            : weights->scalar_type() == ScalarType::Float ? ScalarType::Float
                                                                          : ScalarType::Double;
  Shape shape;
  shape.append(minlength);
  for (int64_t i = 0; i < values.numel(); ++i) {
    const auto value = read<int64_t>(values.data + i * values.strides[0], dtype);
    if (!ET_EXPECT(ctx, value >= 0 && value < INT32_MAX,
                   "self[%" PRId64 "] = %" PRId64 ", expected 0 to 2^31 - 2", i, value)) {
      return out;
    }
    shape.sizes[0] = std::max(shape.sizes[0], value + 1);
  }
  if (!expect_dtype(ctx, "out", out, result) || !resize(ctx, out, shape)) return out;
  const Strided to(out);
  if (!fill(ctx, to, Scalar(int64_t(0)))) return out;
  const Strided weight = weighed ? Strided(*weights) : Strided();
  visit_compute(compute_of(result), [&](auto tag) {
    using W = ET_TYPE_OF(tag);
    add_up<W>(ctx, values, weighed ? &weight : nullptr, to);
  });
  return out;
}

}  // namespace executorch::kernels::portable
