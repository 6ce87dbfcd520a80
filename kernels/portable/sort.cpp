// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that ask for the order of elements: sorts, the k-th, the most frequent, running
// extremes, searches.
//
// Whatever the dtype, an element is compared by its key (loops/order_key.h), and moved by its index
// without being looked at.
#include <executorch/kernels/loops/copy.h>
#include <executorch/kernels/loops/index_order.h>
#include <executorch/kernels/loops/lines.h>
#include <executorch/kernels/loops/number.h>
#include <executorch/kernels/loops/order_key.h>
#include <executorch/kernels/loops/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cmath>
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

// What finds something in a line of n elements, written to values and indices: `count` picked
// indices.
struct Line {
  Element* elements;
  int64_t n;
  int64_t count;
  bool has_nan;  // A key of kNanKey stands for NaN.
  int64_t* picked;
};

// Reads a line's elements in ascending order of keys; `flip` turns the order around, NaN included.
void read_line(const KeyReader& reader, const char* from, int64_t stride, int64_t n, uint64_t flip,
               Element* to) {
  uint64_t keys[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    reader.read(from + first * stride, stride, count, keys);
    for (int64_t i = 0; i < count; ++i) to[first + i] = {keys[i] ^ flip, first + i};
  }
}

// For each line along `dim`, what `pick` chooses of it goes to values (unless null) and indices.
// Both have the sizes of self, but `count` along `dim`.
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

void pick_first(const Line& line) {
  constexpr int64_t kFew = 32;
  Element *const begin = line.elements, *const end = begin + line.n,
                 *const middle = begin + line.count;
  if (line.count <= line.n / kFew) {
    std::partial_sort(begin, middle, end);  // Most are not looked at twice.
  } else {
    if (line.count < line.n) std::nth_element(begin, middle, end);
    std::sort(begin, middle);
  }
  for (int64_t i = 0; i < line.count; ++i) line.picked[i] = begin[i].index;
}

struct Outputs {
  Tensor& values;
  Tensor& indices;

  std::tuple<Tensor&, Tensor&> both() const { return {values, indices}; }
};

// The first `k` of each line in order, all if absent.
void sort(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, std::optional<int64_t> k,
          bool descending, const Outputs& out) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_number(ctx, "self", self) ||
      !expect_same_dtype(ctx, "self", self, "values", out.values) ||
      !expect_dtype(ctx, "indices", out.indices, ScalarType::Long)) {
    return;
  }
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
  pick_from_lines(ctx, self, d, count, descending, &values, Strided(out.indices), pick_first);
}

// One element of each line.
template <class Pick>
void pick_one(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool keepdim,
              const Outputs& out, Pick&& pick) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_number(ctx, "self", self) ||
      !expect_same_dtype(ctx, "self", self, "values", out.values) ||
      !expect_dtype(ctx, "indices", out.indices, ScalarType::Long)) {
    return;
  }
  Shape shape(self);
  if (!ET_EXPECT(ctx, shape.rank == 0 || shape.sizes[d] > 0,
                 "dimension %d has no elements to choose from", d)) {
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

// The lower of the two in the middle. A NaN is the median of its line, unless they are left out.
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

// The most frequent value, the smallest of several; its last index. NaN is no other NaN's equal.
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

// The median of all elements, taken as one line.
Tensor& median_of_all(KernelRuntimeContext& ctx, const Tensor& self, bool leave_nan_out,
                      Tensor& out) {
  if (!expect_number(ctx, "self", self) || !expect_same_dtype(ctx, "self", self, "out", out) ||
      !resize(ctx, out, Shape())) {
    return out;
  }
  const Strided from(self), to(out);
  const int64_t n = from.numel();
  if (n == 0) {
    // As eager: NaN, cut to the dtype.
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

// At each element, the greatest (by flipped keys, least) up to it; the last of equals; NaN from the
// first on.
void running_extreme(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool least,
                     const Outputs& out) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_number(ctx, "self", self) ||
      !expect_same_dtype(ctx, "self", self, "values", out.values) ||
      !expect_dtype(ctx, "indices", out.indices, ScalarType::Long) ||
      !resize_like(ctx, out.values, self) || !resize_like(ctx, out.indices, self) ||
      self.numel() == 0) {
    return;
  }
  const Strided values(out.values);
  const uint64_t nan = least ? ~kNanKey : kNanKey;
  const int64_t n = self.dim() > 0 ? self.size(d) : 1;
  pick_from_lines(ctx, self, d, n, least, &values, Strided(out.indices), [&](const Line& line) {
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
  sort(ctx, self, dim, std::nullopt, descending, out);
  return out.both();
}
std::tuple<Tensor&, Tensor&> sort_values_stable(KernelRuntimeContext& ctx, const Tensor& self,
                                                std::optional<bool>, int64_t dim, bool descending,
                                                Tensor& values, Tensor& indices) {
  const Outputs out{values, indices};
  sort(ctx, self, dim, std::nullopt, descending, out);
  return out.both();
}
std::tuple<Tensor&, Tensor&> topk_values(KernelRuntimeContext& ctx, const Tensor& self, int64_t k,
                                         int64_t dim, bool largest, bool, Tensor& values,
                                         Tensor& indices) {
  const Outputs out{values, indices};
  sort(ctx, self, dim, k, largest, out);
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

namespace {

// How many of n ascending keys come before `key`: where it would be put, to the left or right of
// its equals. What is compared with a NaN in the sequence comes after it, as in eager.
int64_t position_of(uint64_t key, const uint64_t* keys, int64_t n, bool floating, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const uint64_t found = keys[middle];
    const bool nan = floating && found == kNanKey;
    if (nan || (right ? found <= key : found < key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct Search {
  bool out_int32;
  bool right;
  const Tensor* sorter;
};

// The sequences' keys, one after the other, each in the order of its sorter if there is one.
const uint64_t* keys_of(KernelRuntimeContext& ctx, const KeyReader& reader,
                        const Strided& sequences, const Tensor* sorter) {
  const int last = sequences.rank - 1;
  const int64_t n = sequences.sizes[last], stride = sequences.strides[last];
  const int64_t count = sequences.numel();
  auto* const keys = allocate<uint64_t>(ctx, count);
  if (keys == nullptr) return nullptr;
  const Strided order = sorter != nullptr ? Strided(*sorter) : sequences;
  const Strided rows = without(sequences, last), order_rows = without(order, last);
  IndexWalk row(rows), order_row(order_rows);
  for (int64_t first = 0; first < count; first += n) {
    const char *const from = row.next(), *const picks = order_row.next();
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = i;
      if (sorter != nullptr) {
        at = load_index(reinterpret_cast<const int64_t*>(picks + i * order.strides[last]));
        if (!ET_EXPECT(ctx, at >= 0 && at < n,
                       "sorter holds %" PRId64 " for a sequence of %" PRId64 " elements", at, n)) {
          return nullptr;
        }
      }
      reader.read(from + at * stride, 0, 1, keys + first + i);
    }
  }
  return keys;
}

bool expect_search(KernelRuntimeContext& ctx, const Tensor& sequence, const Strided& values,
                   const Shape& shape, const Search& how, Tensor& out) {
  const Shape sorted(sequence);
  bool rows_match = sorted.rank == 1 || shape.rank == sorted.rank;
  for (int d = 0; rows_match && d < sorted.rank - 1; ++d) {
    rows_match = shape.sizes[d] == sorted.sizes[d];
  }
  if (!expect_number(ctx, "the sequence", sequence) ||
      !ET_EXPECT(ctx, sequence.scalar_type() == values.dtype && sorted.rank > 0 && rows_match,
                 "values of %s and shape %s cannot be placed in a sequence of %s and shape %s",
                 name_of(values.dtype), ShapeText(shape).text, name_of(sequence.scalar_type()),
                 ShapeText(sorted).text) ||
      !expect_dtype(ctx, "out", out, how.out_int32 ? ScalarType::Int : ScalarType::Long)) {
    return false;
  }
  return how.sorter == nullptr || (expect_dtype(ctx, "sorter", *how.sorter, ScalarType::Long) &&
                                   ET_EXPECT(ctx, Shape(*how.sorter) == sorted,
                                             "sorter must have the sequence's shape %s, found %s",
                                             ShapeText(sorted).text, ShapeText(*how.sorter).text));
}

// The positions of `values`: rows of the same leading dimensions as the sequences, or anything in a
// single sequence.
void search(KernelRuntimeContext& ctx, const Tensor& sequence, const Strided& values,
            const Shape& shape, const Search& how, Tensor& out) {
  if (!expect_search(ctx, sequence, values, shape, how, out) || !resize(ctx, out, shape)) return;
  const KeyReader reader(values.dtype);
  const Strided sequences(sequence), to(out);
  const uint64_t* const keys = keys_of(ctx, reader, sequences, how.sorter);
  if (keys == nullptr) return;
  const int64_t n = sequences.sizes[sequences.rank - 1];
  const int64_t row = sequences.rank > 1 ? values.sizes[values.rank - 1] : values.numel() + 1;
  IndexWalk source(values), target(to);
  for (int64_t i = 0, count = values.numel(); i < count; ++i) {
    uint64_t key;
    reader.read(source.next(), 0, 1, &key);
    const int64_t position =
        position_of(key, keys + i / row * n, n, is_floating(values.dtype), how.right);
    write<int64_t>(position, target.next(), to.dtype);
  }
}

// The integer that has the number's place in a sequence of a dtype. A number outside
// the dtype's range becomes the nearest limit and is placed before or after elements equal to it.
Scalar among_integers(ScalarType dtype, Search* how, double number) {
  const double whole = how->right ? std::floor(number) : std::ceil(number);
  const bool is_bool = dtype == ScalarType::Bool;
  if (is_bool ? whole == 0 || whole == 1
              : fits(Scalar(whole), dtype) && std::fabs(whole) < 0x1p63) {
    return Scalar(cast<int64_t>(whole));
  }
  how->right = !(whole < 0);  // NaN comes last.
  if (is_bool) return Scalar(how->right);
  const int bits = static_cast<int>(8 * size_of(dtype));
  const bool is_below = !how->right;
  if (is_unsigned(dtype)) return Scalar(int64_t(is_below ? 0 : -1));  // -1 wraps
  const int64_t least = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return Scalar(is_below ? least : -(least + 1));
}

void search_number(KernelRuntimeContext& ctx, const Tensor& sequence, const Scalar& value,
                   const Search& how, Tensor& out) {
  alignas(8) char element[8];
  Strided one;
  one.data = element;
  one.dtype = sequence.scalar_type();
  if (!expect_number(ctx, "the sequence", sequence)) return;
  Search place = how;
  Scalar key = value;
  const bool is_wider = value.isFloatingPoint() || one.dtype == ScalarType::Bool;
  if (is_wider && is_integral(one.dtype)) key = among_integers(one.dtype, &place, as_double(value));
  if (fill(ctx, one, key)) search(ctx, sequence, one, Shape(), place, out);
}

// `side` says the same as `right`, and must not contradict it.
bool parse_side(KernelRuntimeContext& ctx, const std::optional<std::string_view>& side,
                Search* how) {
  if (!side.has_value()) return true;
  if (!ET_EXPECT(ctx, *side == "right" || (*side == "left" && !how->right),
                 "side must be left or right and not contradict right=%d, found %.*s", how->right,
                 static_cast<int>(side->size()), side->data())) {
    return false;
  }
  how->right = *side == "right";
  return true;
}

}  // namespace

Tensor& searchsorted_tensor_out(KernelRuntimeContext& ctx, const Tensor& sorted_sequence,
                                const Tensor& self, bool out_int32, bool right,
                                std::optional<std::string_view> side,
                                const std::optional<Tensor>& sorter, Tensor& out) {
  Search how{out_int32, right, sorter.has_value() ? &*sorter : nullptr};
  if (parse_side(ctx, side, &how)) {
    search(ctx, sorted_sequence, Strided(self), Shape(self), how, out);
  }
  return out;
}
Tensor& searchsorted_scalar_out(KernelRuntimeContext& ctx, const Tensor& sorted_sequence,
                                const Scalar& self, bool out_int32, bool right,
                                std::optional<std::string_view> side,
                                const std::optional<Tensor>& sorter, Tensor& out) {
  Search how{out_int32, right, sorter.has_value() ? &*sorter : nullptr};
  if (parse_side(ctx, side, &how)) search_number(ctx, sorted_sequence, self, how, out);
  return out;
}
Tensor& bucketize_tensor_out(KernelRuntimeContext& ctx, const Tensor& self,
                             const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  if (ET_EXPECT(ctx, boundaries.dim() == 1, "boundaries must have rank 1, found %d",
                static_cast<int>(boundaries.dim()))) {
    search(ctx, boundaries, Strided(self), Shape(self), {out_int32, right, nullptr}, out);
  }
  return out;
}
Tensor& bucketize_scalar_out(KernelRuntimeContext& ctx, const Scalar& self,
                             const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  if (ET_EXPECT(ctx, boundaries.dim() == 1, "boundaries must have rank 1, found %d",
                static_cast<int>(boundaries.dim()))) {
    search_number(ctx, boundaries, self, {out_int32, right, nullptr}, out);
  }
  return out;
}

}  // namespace executorch::kernels::portable
