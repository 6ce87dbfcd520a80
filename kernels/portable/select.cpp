// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators whose work depends on what the data says: where elements are true, which values there
// are.
#include <executorch/kernels/loops/broadcast.h>
#include <executorch/kernels/loops/convert.h>
#include <executorch/kernels/loops/copy.h>
#include <executorch/kernels/loops/index_order.h>
#include <executorch/kernels/loops/lines.h>
#include <executorch/kernels/loops/loop_nest.h>
#include <executorch/kernels/loops/order_key.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

bool expect_mask(KernelRuntimeContext& ctx, const Tensor& mask) {
  return ET_EXPECT(ctx,
                   mask.scalar_type() == ScalarType::Bool || mask.scalar_type() == ScalarType::Byte,
                   "mask must be bool or uint8, found %s", name_of(mask.scalar_type()));
}

bool common_shape(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask, Shape* shape) {
  *shape = Shape(self);
  return expect_mask(ctx, mask) && expect_broadcast(ctx, *shape, Shape(mask));
}

// out = self, both in the shape of self and mask together.
bool copy_masked(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask, Shape* shape,
                 Tensor& out) {
  return expect_same_dtype(ctx, "self", self, "out", out) && common_shape(ctx, self, mask, shape) &&
         resize(ctx, out, *shape) && copy(ctx, Strided(out), expanded(Strided(self), *shape));
}

template <class T>
void fill_row(char* to, int64_t stride, const char* mask, int64_t mask_stride, const char* element,
              int64_t n) {
  const T value = *reinterpret_cast<const T*>(element);
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i * mask_stride] != 0) *reinterpret_cast<T*>(to + i * stride) = value;
  }
}

Tensor& masked_fill(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask,
                    const Strided& value, Tensor& out) {
  Shape shape;
  alignas(kMaxWidth) char element[kMaxWidth];
  Strided one;
  one.data = element;
  one.dtype = out.scalar_type();
  if (!copy_masked(ctx, self, mask, &shape, out) || !copy(ctx, one, value)) return out;
  const LoopNest nest(Strided(out), expanded(Strided(mask), shape));
  visit_width(one.element_size(), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    nest.for_each_row([&](char* const* at) {
      fill_row<T>(at[0], nest.stride(0), at[1], nest.stride(1), element, nest.row());
    });
  });
  return out;
}

int64_t count_true(const Strided& mask) {
  int64_t count = 0;
  const LoopNest nest(mask, mask);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); ++i) count += at[0][i * nest.stride(0)] != 0;
  });
  return count;
}

}  // namespace

Tensor& masked_fill_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask,
                               const Scalar& value, Tensor& out) {
  if (!expect_fits(ctx, "value", value, self.scalar_type())) return out;
  const Number number(value);
  return masked_fill(ctx, self, mask, number.strided(), out);
}

Tensor& masked_fill_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask,
                               const Tensor& value, Tensor& out) {
  if (!ET_EXPECT(ctx, value.dim() == 0, "value must have rank 0, found %d",
                 static_cast<int>(value.dim())) ||
      !expect_item_fits(ctx, "value", value, self.scalar_type()))
    return out;
  return masked_fill(ctx, self, mask, Strided(value), out);
}

namespace {

// Calls f(line, its step, line of the mask, its step, length) along the last dimension of both.
template <class F>
void for_each_masked_line(const Strided& memory, const Strided& mask, F&& f) {
  const int last = memory.rank - 1;
  const Strided outer = without(memory, last), outer_mask = without(mask, last);
  IndexWalk lines(outer), masks(outer_mask);
  for (int64_t left = outer.numel(); left > 0; --left) {
    char* const line = lines.next();
    f(line, line_stride(memory, last), masks.next(), line_stride(mask, last),
      line_length(memory, last));
  }
}

// The elements where the mask is true, in the order of their indices, to [to, end). Every element
// is written, and the next one over those that were not chosen: which are is hard to foresee.
template <class T>
void gather(const Strided& from, const Strided& mask, T* to, const T* end) {
  for_each_masked_line(
      from, mask,
      [&](const char* line, int64_t step, const char* chosen, int64_t mask_step, int64_t length) {
        for (int64_t i = 0; i < length && to != end; ++i) {
          *to = *reinterpret_cast<const T*>(line + i * step);
          to += chosen[i * mask_step] != 0;
        }
      });
}

// The values in order to where the mask is true, at most all: the mask may have changed meanwhile.
template <class T>
void scatter(const Strided& to, const Strided& mask, const Strided& from) {
  const bool dense = in_index_order(from);
  const auto* next = reinterpret_cast<const T*>(from.data);
  IndexWalk values(from);
  int64_t left = from.numel();
  for_each_masked_line(
      to, mask,
      [&](char* line, int64_t step, const char* chosen, int64_t mask_step, int64_t length) {
        for (int64_t i = 0; i < length && left > 0; ++i) {
          if (chosen[i * mask_step] == 0) continue;
          --left;
          *reinterpret_cast<T*>(line + i * step) =
              dense ? *next++ : *reinterpret_cast<const T*>(values.next());
        }
      });
}

}  // namespace

Tensor& masked_select_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask,
                          Tensor& out) {
  Shape shape, selected;
  if (!expect_movable(ctx, "self", self) || !expect_same_dtype(ctx, "self", self, "out", out) ||
      !common_shape(ctx, self, mask, &shape)) {
    return out;
  }
  const Strided from = expanded(Strided(self), shape), chosen = expanded(Strided(mask), shape);
  const int64_t count = count_true(chosen);
  selected.append(count);
  if (!resize(ctx, out, selected)) return out;
  visit_width(from.element_size(), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    auto* const to = static_cast<T*>(out.mutable_data_ptr());
    gather<T>(from, chosen, to, to + count);
  });
  return out;
}

Tensor& masked_scatter_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask,
                           const Tensor& source, Tensor& out) {
  Shape shape;
  if (!ET_EXPECT(ctx, mask.scalar_type() == ScalarType::Bool, "mask must be bool, found %s",
                 name_of(mask.scalar_type())) ||
      !expect_same_dtype(ctx, "self", self, "source", source) ||
      !copy_masked(ctx, self, mask, &shape, out))
    return out;
  const Strided to(out), chosen = expanded(Strided(mask), shape), from(source);
  const int64_t needed = count_true(chosen);
  if (!ET_EXPECT(ctx, needed <= source.numel(),
                 "mask has %" PRId64 " true elements, source only %" PRId64 " elements", needed,
                 int64_t(source.numel()))) {
    return out;
  }
  visit_width(to.element_size(), [&](auto tag) { scatter<ET_TYPE_OF(tag)>(to, chosen, from); });
  return out;
}

namespace {

// The sum of the counts. Fails the context where one is negative or the sum too large.
template <class T>
bool sum_counts(KernelRuntimeContext& ctx, const Strided& counts, int64_t* sum) {
  *sum = 0;
  for (int64_t i = 0; i < counts.sizes[0]; ++i) {
    const int64_t times = *reinterpret_cast<const T*>(counts.data + i * counts.strides[0]);
    if (!ET_EXPECT(ctx, times >= 0 && times <= INT32_MAX - *sum,
                   "repeats[%" PRId64 "] = %" PRId64 " is out of range", i, times)) {
      return false;
    }
    *sum += times;
  }
  return true;
}

// Each index as often as its count says, `left` in all: were the counts' memory out's, they would
// not be what they were.
template <class T>
void repeat_indices(const Strided& counts, T* to, int64_t left) {
  constexpr int64_t kFew =
      4;  // so many are written in any case: how many counts is hard to foresee
  for (int64_t i = 0; i < counts.sizes[0]; ++i) {
    const int64_t count = *reinterpret_cast<const T*>(counts.data + i * counts.strides[0]);
    const int64_t times = std::clamp(count, int64_t(0), left);
    std::fill_n(to, left >= kFew && times <= kFew ? kFew : times, static_cast<T>(i));
    to += times;
    left -= times;
  }
}

template <class T>
void repeat_interleave(KernelRuntimeContext& ctx, const Tensor& repeats,
                       std::optional<int64_t> output_size, Tensor& out) {
  const Strided counts(repeats);
  Shape shape;
  shape.append(0);
  if (sum_counts<T>(ctx, counts, &shape.sizes[0]) &&
      ET_EXPECT(ctx, !output_size.has_value() || *output_size == shape.sizes[0],
                "repeats add up to %" PRId64 ", not to output_size %" PRId64, shape.sizes[0],
                output_size.value_or(0)) &&
      resize(ctx, out, shape)) {
    repeat_indices(counts, static_cast<T*>(out.mutable_data_ptr()), shape.sizes[0]);
  }
}

}  // namespace

Tensor& repeat_interleave_tensor_out(KernelRuntimeContext& ctx, const Tensor& repeats,
                                     std::optional<int64_t> output_size, Tensor& out) {
  if (!expect_index_dtype(ctx, "repeats", repeats) ||
      !expect_same_dtype(ctx, "repeats", repeats, "out", out) ||
      !ET_EXPECT(ctx, repeats.dim() == 1, "repeats must have rank 1, found %d",
                 static_cast<int>(repeats.dim()))) {
    return out;
  }
  const bool is_long = repeats.scalar_type() == ScalarType::Long;
  is_long ? repeat_interleave<int64_t>(ctx, repeats, output_size, out)
          : repeat_interleave<int32_t>(ctx, repeats, output_size, out);
  return out;
}

namespace {

// Calls f(index, first, truth values, n) for runs along the last dimension, in index order: where
// the line is in the others, and where the run starts in it.
template <class F>
void for_each_truth(const Strided& from, F&& f) {
  const int last = from.rank - 1;
  const Strided outer = without(from, last);
  const int64_t length = line_length(from, last), stride = line_stride(from, last);
  Reader<bool> reader(from.dtype);
  IndexWalk lines(outer);
  for (int64_t left = outer.numel(); left > 0; --left) {
    int64_t index[kMaxRank];
    for (int d = 0; d < outer.rank; ++d) index[d] = lines.index(d);
    const char* const line = lines.next();
    for (int64_t i = 0; i < length; i += kBlock) {
      const int64_t n = std::min(kBlock, length - i);
      f(index, i, reinterpret_cast<const char*>(reader(line + i * stride, stride, n)), n);
    }
  }
}

bool expect_truth(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& out) {
  return ET_EXPECT(ctx, load(self.scalar_type(), Compute::Bool) != nullptr,
                   "self has a dtype that no kernel can hold") &&
         expect_dtype(ctx, "out", out, ScalarType::Long);
}

// The places of the first `limit` elements that are not zero to the rows of out; gives how many
// these are. What changes along a line is written for every element, and over again unless it was
// one: which are is hard to foresee.
int64_t write_places(const Strided& from, const Strided& to, int64_t limit) {
  const int last = from.rank - 1;
  const int64_t row_step = to.strides[0], step = to.strides[1];
  int64_t written = 0;
  for_each_truth(from, [&](const int64_t* index, int64_t first, const char* truth, int64_t n) {
    const int64_t before = written;
    int64_t found = before;
    for (int64_t i = 0; i < n && found < limit; ++i) {
      char* const row = to.data + found * row_step;
      if (last >= 0) *reinterpret_cast<int64_t*>(row + last * step) = first + i;
      found += element<bool>(truth, i);
    }
    for (int d = 0; d < last; ++d) {
      for (int64_t k = before; k < found; ++k) {
        *reinterpret_cast<int64_t*>(to.data + k * row_step + d * step) = index[d];
      }
    }
    written = found;
  });
  return written;
}

}  // namespace

Tensor& nonzero_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!expect_truth(ctx, self, out)) return out;
  const Strided from(self);
  Shape shape;
  shape.append(0);
  shape.append(from.rank);
  for_each_truth(from, [&](const int64_t*, int64_t, const char* truth, int64_t n) {
    for (int64_t i = 0; i < n; ++i) shape.sizes[0] += element<bool>(truth, i);
  });
  if (resize(ctx, out, shape)) write_places(from, Strided(out), shape.sizes[0]);
  return out;
}

Tensor& nonzero_static_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t size,
                           int64_t fill_value, Tensor& out) {
  const Strided from(self);
  Shape shape;
  shape.append(size);
  shape.append(from.rank);
  if (!expect_truth(ctx, self, out) ||
      !ET_EXPECT(ctx, size >= 0 && size <= INT32_MAX, "size must not be negative, found %" PRId64,
                 size) ||
      !resize(ctx, out, shape)) {
    return out;
  }
  Strided rest(out);
  const int64_t found = write_places(from, rest, size);
  rest.narrow(0, found, size - found);
  fill(ctx, rest, Scalar(fill_value));
  return out;
}

namespace {

// Items that are compared by their keys: elements, or slices along a dimension.
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

// The first of each run of equal items goes to `values`.
bool write_values(KernelRuntimeContext& ctx, const Strided& from, const Unique& how,
                  const int64_t* firsts, const Strided& values) {
  if (how.dim.has_value()) {
    const int d = *how.dim;
    for (int64_t i = 0; i < values.sizes[d]; ++i) {
      if (!copy(ctx, slice(values, d, i), slice(from, d, firsts[i]))) return false;
    }
    return true;
  }
  // Where the elements lie, in the order of their indices, as offsets.
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

std::tuple<Tensor&, Tensor&, Tensor&> unique(KernelRuntimeContext& ctx, const Tensor& self,
                                             const Unique& how, Tensor& out, Tensor& inverse,
                                             Tensor& counts) {
  std::tuple<Tensor&, Tensor&, Tensor&> result(out, inverse, counts);
  const Strided from(self);
  Items items;
  if (!expect_number(ctx, "self", self) || !expect_same_dtype(ctx, "self", self, "out0", out) ||
      !expect_dtype(ctx, "out1", inverse, ScalarType::Long) ||
      !expect_dtype(ctx, "out2", counts, ScalarType::Long) || !read_items(ctx, from, how, &items)) {
    return result;
  }
  auto* const firsts = allocate<int64_t>(ctx, items.count);
  auto* const lengths = allocate<int64_t>(ctx, items.count);
  auto* const runs = allocate<int64_t>(ctx, items.count);  // of each item, its run
  if (firsts == nullptr || lengths == nullptr || runs == nullptr) return result;
  int64_t found = 0;
  for (int64_t i = 0; i < items.count; ++i) {
    if (i == 0 || !items.equal(items.order[i - 1], items.order[i])) {
      firsts[found] = items.order[i];
      lengths[found++] = 0;
    }
    ++lengths[found - 1];
    runs[items.order[i]] = found - 1;
  }
  Shape shape = how.dim.has_value() ? Shape(self) : vector_of(found);
  if (how.dim.has_value()) shape.sizes[*how.dim] = found;
  const Shape whole = how.dim.has_value() ? vector_of(items.count) : Shape(self);
  if (!resize(ctx, out, shape) || !resize(ctx, inverse, how.with_inverse ? whole : vector_of(0)) ||
      !resize(ctx, counts, vector_of(how.with_counts ? found : 0)) ||
      !write_values(ctx, from, how, firsts, Strided(out))) {
    return result;
  }
  const Strided run_of(inverse), length_of(counts);
  IndexWalk run(run_of), length(length_of);
  for (int64_t i = 0, n = run_of.numel(); i < n; ++i) {
    *reinterpret_cast<int64_t*>(run.next()) = runs[i];
  }
  for (int64_t i = 0, n = length_of.numel(); i < n; ++i) {
    *reinterpret_cast<int64_t*>(length.next()) = lengths[i];
  }
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

// Gives the inverse and the counts whether asked for or not, as eager does.
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
