// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Lines put in order, and the first few of them.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/lines.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

template <class C>
struct Element {
  C value;
  int64_t index;
};

// NaN is the largest; equal elements keep their order.
template <class C>
struct Before {
  bool descending;
  bool operator()(const Element<C>& a, const Element<C>& b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool less =
        descending ? (a_nan ? !b_nan : a.value > b.value) : (b_nan ? !a_nan : a.value < b.value);
    if (less) return true;
    const bool equal = (a_nan && b_nan) || a.value == b.value;
    return equal && a.index < b.index;
  }
};

// The first `count` of each line's elements in order.
template <class C>
void sort_lines(const Strided& from, const Strided& values, const Strided& indices, int dim,
                int64_t count, bool descending, Element<C>* line) {
  const int64_t length = line_length(from, dim), stride = line_stride(from, dim);
  Reader<C> reader(from.dtype);
  for_each_line(values, indices, from, dim, [&](char* const* at) {
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = length - first < kBlock ? length - first : kBlock;
      const C* const x = reader(at[2] + first * stride, stride, n);
      for (int64_t i = 0; i < n; ++i) line[first + i] = {x[i], first + i};
    }
    std::partial_sort(line, line + count, line + length, Before<C>{descending});
    for (int64_t i = 0; i < count; ++i) {
      write<C>(line[i].value, at[0] + i * line_stride(values, dim), values.dtype);
      *reinterpret_cast<int64_t*>(at[1] + i * line_stride(indices, dim)) = line[i].index;
    }
  });
}

void sort(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, std::optional<int64_t> k,
          bool descending, Tensor& values, Tensor& indices) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !ET_EXPECT(ctx, kind_of(self.scalar_type()) != Kind::Unsupported, "self has %s",
                 name_of(self.scalar_type())) ||
      !expect_same_dtype(ctx, "self", self, "values", values) ||
      !expect_dtype(ctx, "indices", indices, ScalarType::Long)) {
    return;
  }
  const Strided from(self);
  const int64_t length = line_length(from, d), count = k.value_or(length);
  Shape shape(self);
  if (!ET_EXPECT(ctx, count >= 0 && count <= length,
                 "k must be within [0, %" PRId64 "], found %" PRId64, length, count)) {
    return;
  }
  if (shape.rank > 0) shape.sizes[d] = count;
  if (!resize(ctx, values, shape) || !resize(ctx, indices, shape) || values.numel() == 0) return;
  visit_compute(compute_of(self.scalar_type()), [&](auto tag) {
    using C = ET_TYPE_OF(tag);
    auto* const line = allocate<Element<C>>(ctx, length);
    if (line != nullptr)
      sort_lines<C>(from, Strided(values), Strided(indices), d, count, descending, line);
  });
}

}  // namespace

std::tuple<Tensor&, Tensor&> sort_values(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                         bool descending, Tensor& values, Tensor& indices) {
  sort(ctx, self, dim, std::nullopt, descending, values, indices);
  return {values, indices};
}
std::tuple<Tensor&, Tensor&> sort_values_stable(KernelRuntimeContext& ctx, const Tensor& self,
                                                std::optional<bool>, int64_t dim, bool descending,
                                                Tensor& values, Tensor& indices) {
  sort(ctx, self, dim, std::nullopt, descending, values, indices);
  return {values, indices};
}
std::tuple<Tensor&, Tensor&> topk_values(KernelRuntimeContext& ctx, const Tensor& self, int64_t k,
                                         int64_t dim, bool largest, bool, Tensor& values,
                                         Tensor& indices) {
  sort(ctx, self, dim, k, largest, values, indices);
  return {values, indices};
}

}  // namespace executorch::kernels::portable
