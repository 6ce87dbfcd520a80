// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Distinct elements, or distinct slices along a dimension.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/dtype/order_key.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

/// Items that are compared by their keys: elements, or slices along a dimension.
struct Items {
  int64_t count, width;
  bool floating;
  const uint64_t* keys;  // `width` for each item
  int64_t* order;        // the items, equal ones side by side

  bool before(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < width; ++i) {
      const uint64_t x = keys[a * width + i], y = keys[b * width + i];
      if (x != y) return x < y;
    }
    return a < b;
  }
  // NaN equals nothing.
  bool equal(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < width; ++i) {
      const uint64_t x = keys[a * width + i];
      if (x != keys[b * width + i] || (floating && x == kNanKey)) return false;
    }
    return true;
  }
};

struct Unique {
  std::optional<int> dim;  // absent: of all elements
  bool sort, with_inverse, with_counts;
};

Strided slice(Strided memory, int dim, int64_t index) {
  memory.narrow(dim, index, 1);
  memory.remove(dim);
  return memory;
}

bool read_items(KernelRuntimeContext& ctx, const Strided& from, const Unique& how, Items* items) {
  const int64_t n = from.numel();
  items->count = how.dim.has_value() ? from.sizes[*how.dim] : n;
  items->width = items->count > 0 ? n / items->count : 0;
  items->floating = is_floating(from.dtype);
  auto* const keys = allocate<uint64_t>(ctx, n);
  items->order = allocate<int64_t>(ctx, items->count);
  if (keys == nullptr || items->order == nullptr) return false;
  const KeyReader reader(from.dtype);
  uint64_t* next = keys;
  const auto read_all = [&](const Strided& memory) {
    IndexWalk walk(memory);
    for (int64_t i = 0, count = memory.numel(); i < count; ++i) {
      reader.read(walk.next(), 0, 1, next++);
    }
  };
  if (!how.dim.has_value()) read_all(from);
  for (int64_t i = 0; i < items->count; ++i) {
    items->order[i] = i;
    if (how.dim.has_value()) read_all(slice(from, *how.dim, i));
  }
  items->keys = keys;
  if (how.sort) {
    std::sort(items->order, items->order + items->count,
              [items](int64_t a, int64_t b) { return items->before(a, b); });
  }
  return true;
}

/// Runs of equal items, which are neighbors in the order of the items.
struct Runs {
  int64_t count;
  int64_t *firsts, *lengths;  // of each run: its first item, and its number of items
  int64_t* run_of;            // the run of each item
};

bool find_runs(KernelRuntimeContext& ctx, const Items& items, Runs* runs) {
  runs->count = 0;
  runs->firsts = allocate<int64_t>(ctx, items.count);
  runs->lengths = allocate<int64_t>(ctx, items.count);
  runs->run_of = allocate<int64_t>(ctx, items.count);
  if (runs->firsts == nullptr || runs->lengths == nullptr || runs->run_of == nullptr) return false;
  for (int64_t i = 0; i < items.count; ++i) {
    if (i == 0 || !items.equal(items.order[i - 1], items.order[i])) {
      runs->firsts[runs->count] = items.order[i];
      runs->lengths[runs->count++] = 0;
    }
    ++runs->lengths[runs->count - 1];
    runs->run_of[items.order[i]] = runs->count - 1;
  }
  return true;
}

/// The first of each run of equal items goes to `values`.
bool write_values(KernelRuntimeContext& ctx, const Strided& from, const Unique& how,
                  const int64_t* firsts, const Strided& values) {
  if (how.dim.has_value()) {
    const int d = *how.dim;
    for (int64_t i = 0; i < values.sizes[d]; ++i) {
      if (!copy(ctx, slice(values, d, i), slice(from, d, firsts[i]))) return false;
    }
    return true;
  }
  // Offsets of the elements in index order.
  auto* const places = allocate<int64_t>(ctx, from.numel());
  if (places == nullptr) return false;
  IndexWalk walk(from);
  for (int64_t i = 0, n = from.numel(); i < n; ++i) places[i] = walk.next() - from.data;
  const Convert mover = move(from.element_size());
  for (int64_t i = 0; i < values.sizes[0]; ++i) {
    mover(values.data + i * values.strides[0], 0, from.data + places[firsts[i]], 0, 1);
  }
  return true;
}

Shape vector_of(int64_t n) {
  Shape shape;
  shape.append(n);
  return shape;
}

/// Writes numbers to a tensor of their count.
void write_numbers(const int64_t* numbers, const Tensor& out) {
  const Strided to(out);
  IndexWalk walk(to);
  for (int64_t i = 0, n = to.numel(); i < n; ++i) {
    *reinterpret_cast<int64_t*>(walk.next()) = numbers[i];
  }
}

/// Slices without elements cannot be compared.
bool expect_elements(KernelRuntimeContext& ctx, const Tensor& self, const Unique& how) {
  return !how.dim.has_value() || self.numel() > 0 ||
         ET_EXPECT(ctx, self.size(*how.dim) == 0,
                   "self of sizes %s has slices along dimension %d without elements",
                   ShapeText(self).text, *how.dim);
}

std::tuple<Tensor&, Tensor&, Tensor&> unique(KernelRuntimeContext& ctx, const Tensor& self,
                                             const Unique& how, Tensor& out, Tensor& inverse,
                                             Tensor& counts) {
  std::tuple<Tensor&, Tensor&, Tensor&> result(out, inverse, counts);
  const Strided from(self);
  Items items;
  Runs runs;
  if (!expect_number(ctx, "self", self) || !expect_elements(ctx, self, how) ||
      !expect_same_dtype(ctx, "self", self, "out0", out) ||
      !expect_dtype(ctx, "out1", inverse, ScalarType::Long) ||
      !expect_dtype(ctx, "out2", counts, ScalarType::Long) || !read_items(ctx, from, how, &items) ||
      !find_runs(ctx, items, &runs)) {
    return result;
  }
  Shape shape = how.dim.has_value() ? Shape(self) : vector_of(runs.count);
  if (how.dim.has_value()) shape.sizes[*how.dim] = runs.count;
  const Shape whole = how.dim.has_value() ? vector_of(items.count) : Shape(self);
  if (!resize(ctx, out, shape) || !resize(ctx, inverse, how.with_inverse ? whole : vector_of(0)) ||
      !resize(ctx, counts, vector_of(how.with_counts ? runs.count : 0)) ||
      !write_values(ctx, from, how, runs.firsts, Strided(out))) {
    return result;
  }
  write_numbers(runs.run_of, inverse);
  write_numbers(runs.lengths, counts);
  return result;
}

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> _unique2_out(KernelRuntimeContext& ctx, const Tensor& self,
                                                   bool, bool return_inverse, bool return_counts,
                                                   Tensor& out0, Tensor& out1, Tensor& out2) {
  return unique(ctx, self, {std::nullopt, true, return_inverse, return_counts}, out0, out1, out2);
}

std::tuple<Tensor&, Tensor&, Tensor&> unique_consecutive_out(
    KernelRuntimeContext& ctx, const Tensor& self, bool return_inverse, bool return_counts,
    std::optional<int64_t> dim, Tensor& out0, Tensor& out1, Tensor& out2) {
  Unique how = {std::nullopt, false, return_inverse, return_counts};
  int d;
  if (dim.has_value()) {
    if (!expect_dim(ctx, *dim, static_cast<int>(self.dim()), &d) ||
        !ET_EXPECT(ctx, self.dim() > 0, "self has no dimension")) {
      return {out0, out1, out2};
    }
    how.dim = d;
  }
  return unique(ctx, self, how, out0, out1, out2);
}

/// Returns the inverse and the counts even if not requested, as eager does.
std::tuple<Tensor&, Tensor&, Tensor&> unique_dim_out(KernelRuntimeContext& ctx, const Tensor& self,
                                                     int64_t dim, bool, bool, bool, Tensor& out0,
                                                     Tensor& out1, Tensor& out2) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !ET_EXPECT(ctx, self.dim() > 0, "self has no dimension")) {
    return {out0, out1, out2};
  }
  return unique(ctx, self, {d, true, true, true}, out0, out1, out2);
}

}  // namespace executorch::kernels::portable
