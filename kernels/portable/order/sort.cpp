// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sorts, the k-th and the most frequent element, running extremes.
//
// An element of any dtype is compared by its key (loops/dtype/order_key.h) and moved by its index.
#include <executorch/kernels/loops/dtype/order_key.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <limits>

namespace executorch::kernels::portable {
namespace {

struct Element {
  uint64_t key;
  int64_t index;
  bool operator<(const Element& other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};

/// A line of n elements, from which an operator picks the indices of `count` elements.
struct Line {
  Element* elements;
  int64_t n;
  int64_t count;
  bool has_nan;  // the key kNanKey means NaN
  int64_t* picked;
};

/// Reads a line's elements in ascending order of keys; `flip` turns the order around, NaN included.
void read_line(const KeyReader& reader, const char* from, int64_t stride, int64_t n, uint64_t flip,
               Element* to) {
  uint64_t keys[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    reader.read(from + first * stride, stride, count, keys);
    for (int64_t i = 0; i < count; ++i) to[first + i] = {keys[i] ^ flip, first + i};
  }
}

/// For each line along `dim`, writes the elements that `pick` chooses to values (unless null) and
/// indices. Both have the sizes of self, except for `count` along `dim`.
template <class Pick>
bool pick_from_lines(KernelRuntimeContext& ctx, const Tensor& self, int dim, int64_t count,
                     bool descending, const Strided* values, const Strided& indices, Pick&& pick) {
  const Strided from(self);
  const int64_t n = line_length(from, dim), stride = line_stride(from, dim);
  auto* const elements = allocate<Element>(ctx, n);
  auto* const picked = allocate<int64_t>(ctx, count);
  if (elements == nullptr || picked == nullptr) return false;
  const KeyReader reader(from.dtype);
  const Convert mover = move(from.element_size());
  const Line line = {elements, n, count, is_floating(from.dtype), picked};
  for_each_line(indices, values != nullptr ? *values : indices, from, dim, [&](char* const* at) {
    read_line(reader, at[2], stride, n, descending ? ~uint64_t{0} : 0, elements);
    pick(line);
    for (int64_t i = 0; i < count; ++i) {
      *reinterpret_cast<int64_t*>(at[0] + i * line_stride(indices, dim)) = picked[i];
      if (values != nullptr) {
        mover(at[1] + i * line_stride(*values, dim), 0, at[2] + picked[i] * stride, 0, 1);
      }
    }
  });
  return true;
}

void pick_all_in_order(const Line& line) {
  std::sort(line.elements, line.elements + line.n);
  for (int64_t i = 0; i < line.n; ++i) line.picked[i] = line.elements[i].index;
}

/// The first `count` elements, in order if `sorted`. The algorithms, and the share from which one
/// replaces the other, are those of torch.topk on the CPU, so that equal elements are picked, and
/// ordered, as in eager.
void pick_top(const Line& line, bool sorted) {
  constexpr int64_t kFew = 64;
  const auto before = [](const Element& x, const Element& y) { return x.key < y.key; };
  Element *const begin = line.elements, *const end = begin + line.n,
                 *const middle = begin + line.count;
  if (line.count <= line.n / kFew) {
    std::partial_sort(begin, middle, end, before);
  } else {
    std::nth_element(begin, middle - 1, end, before);
    if (sorted) std::sort(begin, middle - 1, before);
  }
  for (int64_t i = 0; i < line.count; ++i) line.picked[i] = begin[i].index;
}

struct Outputs {
  Tensor& values;
  Tensor& indices;

  std::tuple<Tensor&, Tensor&> both() const { return {values, indices}; }
};

/// Checks the dtypes of an operator along `dim`, which becomes 0 … rank - 1 in `d`.
bool expect_operands(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Outputs& out,
                     int* d) {
  return expect_dim(ctx, dim, static_cast<int>(self.dim()), d) &&
         expect_number(ctx, "self", self) &&
         expect_same_dtype(ctx, "self", self, "values", out.values) &&
         expect_dtype(ctx, "indices", out.indices, ScalarType::Long);
}

/// `k` elements of each line (absent: all), which `pick` chooses and orders.
template <class Pick>
void sort(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, std::optional<int64_t> k,
          bool descending, const Outputs& out, Pick&& pick) {
  int d;
  if (!expect_operands(ctx, self, dim, out, &d)) return;
  Shape shape(self);
  const int64_t n = shape.rank > 0 ? shape.sizes[d] : 1, count = k.value_or(n);
  if (!ET_EXPECT(ctx, count >= 0 && count <= n, "k must be within [0, %" PRId64 "], found %" PRId64,
                 n, count)) {
    return;
  }
  if (shape.rank > 0) shape.sizes[d] = count;
  if (!resize(ctx, out.values, shape) || !resize(ctx, out.indices, shape) ||
      out.values.numel() == 0) {
    return;
  }
  const Strided values(out.values);
  pick_from_lines(ctx, self, d, count, descending, &values, Strided(out.indices), pick);
}

/// One element of each line.
template <class Pick>
void pick_one(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool keepdim,
              const Outputs& out, Pick&& pick) {
  int d;
  if (!expect_operands(ctx, self, dim, out, &d)) return;
  Shape shape(self);
  if (!ET_EXPECT(ctx, shape.rank == 0 || shape.sizes[d] > 0, "dimension %d must not be empty", d)) {
    return;
  }
  if (shape.rank > 0) keepdim ? void(shape.sizes[d] = 1) : shape.remove(d);
  if (!resize(ctx, out.values, shape) || !resize(ctx, out.indices, shape) || self.numel() == 0) {
    return;
  }
  Strided values(out.values), indices(out.indices);
  if (!keepdim && self.dim() > 0) values.insert(d, 1, 0), indices.insert(d, 1, 0);
  pick_from_lines(ctx, self, d, 1, false, &values, indices, pick);
}

int64_t kth(const Line& line, int64_t k) {
  std::nth_element(line.elements, line.elements + k, line.elements + line.n);
  return line.elements[k].index;
}

/// The lower of the two middle elements. A line with NaN has the median NaN, unless NaN is left
/// out.
void pick_median(const Line& line, bool leave_nan_out) {
  int64_t numbers = line.n, first_nan = -1;
  for (int64_t i = 0; line.has_nan && i < line.n; ++i) {
    if (line.elements[i].key != kNanKey) continue;
    if (first_nan < 0) first_nan = i;
    --numbers;
  }
  const bool is_nan = leave_nan_out ? numbers == 0 : first_nan >= 0;
  line.picked[0] = is_nan ? first_nan : kth(line, (numbers - 1) / 2);
}

/// The last index of the most frequent value, the smallest one on a tie. NaN does not equal NaN.
void pick_mode(const Line& line) {
  std::sort(line.elements, line.elements + line.n);
  int64_t longest = 0, run = 0;
  for (int64_t i = 0; i < line.n; ++i) {
    const uint64_t key = line.elements[i].key;
    const bool goes_on =
        i > 0 && key == line.elements[i - 1].key && !(line.has_nan && key == kNanKey);
    run = goes_on ? run + 1 : 1;
    const bool ends =
        i + 1 == line.n || line.elements[i + 1].key != key || (line.has_nan && key == kNanKey);
    if (!ends || run <= longest) continue;
    longest = run;
    line.picked[0] = line.elements[i].index;
  }
}

/// The median of all elements, taken as one line.
Tensor& median_of_all(KernelRuntimeContext& ctx, const Tensor& self, bool leave_nan_out,
                      Tensor& out) {
  if (!expect_number(ctx, "self", self) || !expect_same_dtype(ctx, "self", self, "out", out) ||
      !resize(ctx, out, Shape())) {
    return out;
  }
  const Strided from(self), to(out);
  const int64_t n = from.numel();
  if (n == 0) {
    // As in eager, the median of no elements is NaN, cut to the dtype.
    write<double>(std::numeric_limits<double>::quiet_NaN(), to.data, to.dtype);
    return out;
  }
  auto* const elements = allocate<Element>(ctx, n);
  auto* const places = allocate<const char*>(ctx, n);
  if (elements == nullptr || places == nullptr) return out;
  const KeyReader reader(from.dtype);
  IndexWalk walk(from);
  for (int64_t i = 0; i < n; ++i) {
    places[i] = walk.next();
    reader.read(places[i], 0, 1, &elements[i].key);
    elements[i].index = i;
  }
  int64_t picked;
  pick_median({elements, n, 1, is_floating(from.dtype), &picked}, leave_nan_out);
  move(from.element_size())(to.data, 0, places[picked], 0, 1);
  return out;
}

/// Running maximum along `dim` (`least`: minimum), and the index of the last element that equals
/// it; NaN from the first NaN on.
void running_extreme(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool is_min,
                     const Outputs& out) {
  int d;
  if (!expect_operands(ctx, self, dim, out, &d) || !resize_like(ctx, out.values, self) ||
      !resize_like(ctx, out.indices, self) || self.numel() == 0) {
    return;
  }
  const Strided values(out.values);
  const uint64_t nan = is_min ? ~kNanKey : kNanKey;
  const int64_t n = self.dim() > 0 ? self.size(d) : 1;
  pick_from_lines(ctx, self, d, n, is_min, &values, Strided(out.indices), [&](const Line& line) {
    Element best = line.elements[0];
    for (int64_t i = 0; i < line.n; ++i) {
      const Element& x = line.elements[i];
      const bool x_nan = line.has_nan && x.key == nan, best_nan = line.has_nan && best.key == nan;
      if (x_nan || (!best_nan && x.key >= best.key)) best = x;
      line.picked[i] = best.index;
    }
  });
}

}  // namespace

std::tuple<Tensor&, Tensor&> sort_values(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                         bool descending, Tensor& values, Tensor& indices) {
  const Outputs out{values, indices};
  sort(ctx, self, dim, std::nullopt, descending, out, pick_all_in_order);
  return out.both();
}
std::tuple<Tensor&, Tensor&> sort_values_stable(KernelRuntimeContext& ctx, const Tensor& self,
                                                std::optional<bool>, int64_t dim, bool descending,
                                                Tensor& values, Tensor& indices) {
  const Outputs out{values, indices};
  sort(ctx, self, dim, std::nullopt, descending, out, pick_all_in_order);
  return out.both();
}
std::tuple<Tensor&, Tensor&> topk_values(KernelRuntimeContext& ctx, const Tensor& self, int64_t k,
                                         int64_t dim, bool largest, bool sorted, Tensor& values,
                                         Tensor& indices) {
  const Outputs out{values, indices};
  sort(ctx, self, dim, k, largest, out, [sorted](const Line& line) { pick_top(line, sorted); });
  return out.both();
}

std::tuple<Tensor&, Tensor&> kthvalue_values(KernelRuntimeContext& ctx, const Tensor& self,
                                             int64_t k, int64_t dim, bool keepdim, Tensor& values,
                                             Tensor& indices) {
  const Outputs out{values, indices};
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d)) return out.both();
  const int64_t n = self.dim() > 0 ? self.size(d) : 1;
  if (ET_EXPECT(ctx, k >= 1 && k <= n, "k must be within [1, %" PRId64 "], found %" PRId64, n, k)) {
    pick_one(ctx, self, dim, keepdim, out,
             [k](const Line& line) { line.picked[0] = kth(line, k - 1); });
  }
  return out.both();
}
std::tuple<Tensor&, Tensor&> median_dim_values(KernelRuntimeContext& ctx, const Tensor& self,
                                               int64_t dim, bool keepdim, Tensor& values,
                                               Tensor& indices) {
  const Outputs out{values, indices};
  pick_one(ctx, self, dim, keepdim, out, [](const Line& line) { pick_median(line, false); });
  return out.both();
}
std::tuple<Tensor&, Tensor&> nanmedian_dim_values(KernelRuntimeContext& ctx, const Tensor& self,
                                                  int64_t dim, bool keepdim, Tensor& values,
                                                  Tensor& indices) {
  const Outputs out{values, indices};
  pick_one(ctx, self, dim, keepdim, out, [](const Line& line) { pick_median(line, true); });
  return out.both();
}
std::tuple<Tensor&, Tensor&> mode_values(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                         bool keepdim, Tensor& values, Tensor& indices) {
  const Outputs out{values, indices};
  pick_one(ctx, self, dim, keepdim, out, pick_mode);
  return out.both();
}

Tensor& median_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return median_of_all(ctx, self, false, out);
}
Tensor& nanmedian_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return median_of_all(ctx, self, true, out);
}

std::tuple<Tensor&, Tensor&> cummax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                        Tensor& values, Tensor& indices) {
  const Outputs out{values, indices};
  running_extreme(ctx, self, dim, false, out);
  return out.both();
}
std::tuple<Tensor&, Tensor&> cummin_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                        Tensor& values, Tensor& indices) {
  const Outputs out{values, indices};
  running_extreme(ctx, self, dim, true, out);
  return out.both();
}
}  // namespace executorch::kernels::portable
