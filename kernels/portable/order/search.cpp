// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Positions of values in sorted sequences.
//
// Elements of any dtype are compared by their keys (loops/dtype/order_key.h).
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/dtype/order_key.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <cmath>
#include <limits>

namespace executorch::kernels::portable {
namespace {

/// The number of the n ascending keys that come before `key`: its insertion point, to the left or
/// right of equal keys. As in eager, every key comes after a NaN in the sequence.
int64_t position_of(uint64_t key, const uint64_t* keys, int64_t n, bool floating, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const uint64_t middle_key = keys[middle];
    const bool nan = floating && middle_key == kNanKey;
    if (nan || (right ? middle_key <= key : middle_key < key)) {
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

/// The sequences' keys, one after the other, each in the order of its sorter if there is one.
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

bool expect_search(KernelRuntimeContext& ctx, const Tensor& sequence, const Shape& shape,
                   const Search& how, Tensor& out) {
  const Shape sorted(sequence);
  bool rows_match = sorted.rank == 1 || shape.rank == sorted.rank;
  for (int d = 0; rows_match && d < sorted.rank - 1; ++d) {
    rows_match = shape.sizes[d] == sorted.sizes[d];
  }
  if (!expect_number(ctx, "the sequence", sequence) ||
      !ET_EXPECT(ctx, sorted.rank > 0 && rows_match,
                 "values of shape %s cannot be placed in a sequence of shape %s",
                 ShapeText(shape).text, ShapeText(sorted).text) ||
      !expect_dtype(ctx, "out", out, how.out_int32 ? ScalarType::Int : ScalarType::Long)) {
    return false;
  }
  return how.sorter == nullptr || (expect_dtype(ctx, "sorter", *how.sorter, ScalarType::Long) &&
                                   ET_EXPECT(ctx, Shape(*how.sorter) == sorted,
                                             "sorter must have the sequence's shape %s, found %s",
                                             ShapeText(sorted).text, ShapeText(*how.sorter).text));
}

/// Replaces elements of another dtype by a converted copy in temporary memory.
bool convert(KernelRuntimeContext& ctx, ScalarType dtype, Strided* elements) {
  if (elements->dtype == dtype || elements->numel() == 0) return true;
  Strided copied;
  copied.dtype = dtype;
  for (int d = 0; d < elements->rank; ++d) copied.append(elements->sizes[d], 0);
  int64_t stride = copied.element_size();
  for (int d = copied.rank - 1; d >= 0; --d) {
    copied.strides[d] = stride;
    stride *= copied.sizes[d];
  }
  copied.data = static_cast<char*>(allocate(ctx, copied.numel(), copied.element_size()));
  if (copied.data == nullptr || !copy(ctx, copied, *elements)) return false;
  *elements = copied;
  return true;
}

/// The positions of `values`: rows of the same leading dimensions as the sequences, or anything in
/// a single sequence. Both are compared in `dtype`.
void search(KernelRuntimeContext& ctx, const Tensor& sequence, Strided values, ScalarType dtype,
            const Shape& shape, const Search& how, Tensor& out) {
  Strided sequences(sequence);
  if (!expect_search(ctx, sequence, shape, how, out) ||
      !ET_EXPECT(ctx, kind_of(dtype) != Kind::Unsupported, "this build leaves out %s",
                 name_of(dtype)) ||
      !resize(ctx, out, shape) || !convert(ctx, dtype, &sequences) ||
      !convert(ctx, dtype, &values)) {
    return;
  }
  const KeyReader reader(dtype);
  const Strided to(out);
  const uint64_t* const keys = keys_of(ctx, reader, sequences, how.sorter);
  if (keys == nullptr) return;
  const int64_t n = sequences.sizes[sequences.rank - 1];
  const int64_t row = sequences.rank > 1 ? values.sizes[values.rank - 1] : values.numel() + 1;
  IndexWalk source(values), target(to);
  for (int64_t i = 0, count = values.numel(); i < count; ++i) {
    uint64_t key;
    reader.read(source.next(), 0, 1, &key);
    const int64_t position = position_of(key, keys + i / row * n, n, is_floating(dtype), how.right);
    write<int64_t>(position, target.next(), to.dtype);
  }
}

void search_tensor(KernelRuntimeContext& ctx, const Tensor& sequence, const Tensor& values,
                   const Search& how, Tensor& out) {
  if (!expect_number(ctx, "the values", values)) return;
  const ScalarType dtype = Promotion().add(sequence).add(values).result();
  search(ctx, sequence, Strided(values), dtype, Shape(values), how, out);
}

/// Returns an integer with the same insertion point as `number` in a sequence of an integer dtype.
/// A number outside of the dtype's range becomes the nearest limit; `how` then says whether its
/// place is before or after elements that equal the limit.
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
  const int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return Scalar(is_below ? lowest : -(lowest + 1));
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
  if (fill(ctx, one, key)) search(ctx, sequence, one, one.dtype, Shape(), place, out);
}

/// Reads `side`, which names the same choice as `right` and must not contradict it.
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
    search_tensor(ctx, sorted_sequence, self, how, out);
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
    search_tensor(ctx, boundaries, self, {out_int32, right, nullptr}, out);
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
