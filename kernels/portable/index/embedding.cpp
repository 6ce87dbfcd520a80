// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Looks up rows of a table by index; their sums, means and maxima; and the gradient of the table.
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cstring>

namespace executorch::kernels::portable {
namespace {

void copy_slice(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n,
                int64_t bytes, Convert mover) {
  if (n == 0) return;  // The pointers may be null, which memmove does not allow.
  if (to_stride == bytes && from_stride == bytes) {
    std::memmove(to, from, static_cast<size_t>(n * bytes));
  } else {
    mover(to, to_stride, from, from_stride, n);
  }
}

/// Sums are taken in float for the 16-bit dtypes, in the dtype itself for the others.
template <class Visitor>
void visit_sum_type(ScalarType dtype, Visitor&& visitor) {
  dtype == ScalarType::Double ? visitor(Type<double>{}) : visitor(Type<float>{});
}

}  // namespace

Tensor& embedding_out(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& indices,
                      int64_t, bool, bool, Tensor& out) {
  if (!ET_EXPECT(ctx, weight.dim() == 2, "weight must have rank 2, found %d",
                 static_cast<int>(weight.dim())) ||
      !expect_index_dtype(ctx, "indices", indices) ||
      !expect_same_dtype(ctx, "weight", weight, "out", out) ||
      !ET_EXPECT(ctx, indices.dim() < kMaxRank, "indices have the highest rank already, %d",
                 kMaxRank)) {
    return out;
  }
  const Strided table(weight), where(indices);
  const int64_t entries = table.sizes[0], width = table.sizes[1], bytes = table.element_size();
  Shape shape(indices);
  shape.append(width);
  const Convert mover = move(bytes), read_index = load(where.dtype, Compute::Int64);
  if (!ET_EXPECT(ctx, mover != nullptr, "weight has a dtype that no kernel can hold") ||
      !resize(ctx, out, shape))
    return out;
  const Strided to(out);
  const int last = to.rank - 1;
  Strided lines = where;  // Gets out's rank, so that both have the same lines.
  lines.append(1, 0);
  for_each_line(to, lines, last, [&](char* const* at) {
    int64_t entry;
    read_index(reinterpret_cast<char*>(&entry), 0, at[1], 0, 1);
    if (ctx.failure_state() != Error::Ok || !expect_within(ctx, entry, entries)) return;
    copy_slice(at[0], to.strides[last], table.data + entry * table.strides[0], table.strides[1],
               width, bytes, mover);
  });
  return out;
}

namespace {

enum class Mode : int64_t { Sum, Mean, Max };

struct Bags {
  Mode mode;
  int64_t padding_idx;
  int64_t bags;
  Strided table, indices, offsets;
  const Tensor* weights;  // of the samples, or null

  int64_t index(int64_t i) const {
    return read<int64_t>(indices.data + i * indices.strides[0], indices.dtype);
  }
  int64_t stored_offset(int64_t bag) const {
    return bag < offsets.sizes[0]
               ? read<int64_t>(offsets.data + bag * offsets.strides[0], offsets.dtype)
               : indices.sizes[0];
  }
  // Within the indices, even if the memory of the offsets has changed since expect_bags().
  int64_t offset(int64_t bag) const {
    return std::clamp<int64_t>(stored_offset(bag), 0, indices.sizes[0]);
  }
};

bool expect_vector(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return expect_index_dtype(ctx, name, tensor) &&
         ET_EXPECT(ctx, tensor.dim() == 1, "%s must have rank 1, found %d", name,
                   static_cast<int>(tensor.dim()));
}

bool expect_bags(KernelRuntimeContext& ctx, const Bags& bags) {
  const int64_t n = bags.indices.sizes[0];
  if (!ET_EXPECT(ctx, bags.bags >= 0, "include_last_offset needs an offset, found none") ||
      !ET_EXPECT(ctx, bags.offsets.sizes[0] == 0 || bags.stored_offset(0) == 0,
                 "the first offset must be 0, found %" PRId64, bags.stored_offset(0))) {
    return false;
  }
  for (int64_t bag = 0; bag < bags.bags; ++bag) {
    const int64_t begin = bags.stored_offset(bag), end = bags.stored_offset(bag + 1);
    if (!ET_EXPECT(ctx, begin <= end && end <= n,
                   "bag %" PRId64 " reaches from %" PRId64 " to %" PRId64 " of %" PRId64 " indices",
                   bag, begin, end, n)) {
      return false;
    }
  }
  return true;
}

template <class C>
struct Row {
  C* sums;
  int64_t* picked;
  int64_t count;
};

/// Adds (or compares) one row of the table.
template <class C>
void take_row(const Bags& bags, int64_t index, C weight, Reader<C>& reader, const Row<C>& row) {
  const int64_t width = bags.table.sizes[1], stride = bags.table.strides[1];
  const char* const from = bags.table.data + index * bags.table.strides[0];
  for (int64_t first = 0; first < width; first += kBlock) {
    const int64_t n = width - first < kBlock ? width - first : kBlock;
    const C* const x = reader(from + first * stride, stride, n);
    C* const sums = row.sums + first;
    if (bags.mode != Mode::Max) {
      for (int64_t i = 0; i < n; ++i) sums[i] += weight * x[i];
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (row.count > 0 && !(x[i] > sums[i])) continue;
      sums[i] = x[i];
      row.picked[first + i] = index;
    }
  }
}

/// A bag's outputs besides its row: the number of indices, and the rows of its maxima.
struct Tallies {
  Strided bag_size, max_indices;

  void write_row(const Bags& bags, int64_t bag, int64_t count, const int64_t* picked) const {
    const int64_t reported = bags.mode == Mode::Sum ? 0 : count;
    write<int64_t>(reported, bag_size.data + bag * bag_size.strides[0], bag_size.dtype);
    char* const to = max_indices.data + bag * max_indices.strides[0];
    if (bags.mode != Mode::Max) return write<int64_t>(reported, to, max_indices.dtype);
    store(Compute::Int64, max_indices.dtype)(to, max_indices.strides[1],
                                             reinterpret_cast<const char*>(picked), sizeof(int64_t),
                                             bags.table.sizes[1]);
  }
};

template <class C>
bool fill_bags(KernelRuntimeContext& ctx, const Bags& bags, const Strided& out,
               const Tallies& tallies) {
  const int64_t width = bags.table.sizes[1];
  Row<C> row = {allocate<C>(ctx, width), allocate<int64_t>(ctx, width), 0};
  if (row.sums == nullptr || row.picked == nullptr) return false;
  Reader<C> reader(bags.table.dtype);
  const Convert writer = store(compute_type<C>, out.dtype);
  for (int64_t bag = 0; bag < bags.bags; ++bag) {
    for (int64_t i = 0; i < width; ++i) row.sums[i] = 0, row.picked[i] = 0;
    row.count = 0;
    for (int64_t i = bags.offset(bag), end = bags.offset(bag + 1); i < end; ++i) {
      const int64_t index = bags.index(i);
      if (!expect_within(ctx, index, bags.table.sizes[0])) return false;
      if (index == bags.padding_idx) continue;
      C weight = 1;
      if (bags.weights != nullptr) {
        const Strided weights(*bags.weights);
        weight = read<C>(weights.data + i * weights.strides[0], weights.dtype);
      }
      take_row<C>(bags, index, weight, reader, row);
      ++row.count;
    }
    for (int64_t i = 0; bags.mode == Mode::Mean && row.count > 0 && i < width; ++i) {
      row.sums[i] /= static_cast<C>(row.count);
    }
    writer(out.data + bag * out.strides[0], out.strides[1], reinterpret_cast<const char*>(row.sums),
           sizeof(C), width);
    tallies.write_row(bags, bag, row.count, row.picked);
  }
  return true;
}

/// Writes each index's bag; indices after the last bag have the number of bags.
void write_bag_of_index(const Bags& bags, const Strided& out) {
  for (int64_t bag = 0; bag <= bags.bags; ++bag) {
    const int64_t end = bag < bags.bags ? bags.offset(bag + 1) : bags.indices.sizes[0];
    for (int64_t i = bag == 0 ? 0 : bags.offset(bag); i < end; ++i) {
      write<int64_t>(bag, out.data + i * out.strides[0], out.dtype);
    }
  }
}

Shape shape_of(int64_t first, int64_t second = -1) {
  Shape shape;
  shape.append(first);
  if (second >= 0) shape.append(second);
  return shape;
}

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> _embedding_bag_out(
    KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& indices, const Tensor& offsets,
    bool, int64_t mode, bool, const std::optional<Tensor>& per_sample_weights,
    bool include_last_offset, int64_t padding_idx, Tensor& out0, Tensor& out1, Tensor& out2,
    Tensor& out3) {
  std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> result(out0, out1, out2, out3);
  const ScalarType dtype = weight.scalar_type();
  if (!ET_EXPECT(ctx, weight.dim() == 2 && is_floating(dtype) && mode >= 0 && mode <= 2,
                 "weight must be floating point and of rank 2 and mode 0, 1 or 2, found %s, rank "
                 "%d and mode %" PRId64,
                 name_of(dtype), static_cast<int>(weight.dim()), mode) ||
      !expect_vector(ctx, "indices", indices) || !expect_vector(ctx, "offsets", offsets) ||
      !expect_same_dtype(ctx, "weight", weight, "out0", out0) ||
      !expect_index_dtype(ctx, "out1", out1) || !expect_index_dtype(ctx, "out2", out2) ||
      !expect_index_dtype(ctx, "out3", out3)) {
    return result;
  }
  const Tensor* const samples = per_sample_weights.has_value() ? &*per_sample_weights : nullptr;
  if (samples != nullptr &&
      (!expect_same_dtype(ctx, "weight", weight, "per_sample_weights", *samples) ||
       !ET_EXPECT(ctx, mode == 0 && Shape(*samples) == Shape(indices),
                  "per_sample_weights are for mode 0 and need the shape of indices %s, found mode "
                  "%" PRId64 " and shape %s",
                  ShapeText(indices).text, mode, ShapeText(*samples).text))) {
    return result;
  }
  const Bags bags = {static_cast<Mode>(mode),
                     padding_idx,
                     offsets.size(0) - include_last_offset,
                     Strided(weight),
                     Strided(indices),
                     Strided(offsets),
                     samples};
  // As in eager, which does not fill it on its fast path for sums.
  const bool direct = mode == 0 && dtype != ScalarType::Double && padding_idx < 0;
  const int64_t width = bags.table.sizes[1];
  if (!expect_bags(ctx, bags) || !resize(ctx, out0, shape_of(bags.bags, width)) ||
      !resize(ctx, out1, shape_of(direct ? 0 : indices.size(0))) ||
      !resize(ctx, out2, shape_of(bags.bags)) ||
      !resize(ctx, out3, shape_of(bags.bags, bags.mode == Mode::Max ? width : -1))) {
    return result;
  }
  if (!direct) write_bag_of_index(bags, Strided(out1));
  visit_sum_type(dtype, [&](auto tag) {
    fill_bags<ET_TYPE_OF(tag)>(ctx, bags, Strided(out0), {Strided(out2), Strided(out3)});
  });
  return result;
}

namespace {

/// Adds each gradient row to the row of its index in `sums`, num_weights rows of C. If not null,
/// `counts` has the number of occurrences of each index.
template <class C>
bool add_rows(KernelRuntimeContext& ctx, const Strided& grad, const Strided& indices,
              int64_t padding_idx, int64_t rows, const int64_t* counts, C* sums) {
  const int last = grad.rank - 1;
  const int64_t width = grad.sizes[last], stride = grad.strides[last];
  Reader<C> reader(grad.dtype);
  Strided lines = indices;
  lines.append(1, 0);
  for_each_line(grad, lines, last, [&](char* const* at) {
    const int64_t index = read<int64_t>(at[1], indices.dtype);
    if (ctx.failure_state() != Error::Ok || index == padding_idx) return;
    if (!expect_within(ctx, index, rows)) return;
    const C scale = counts != nullptr ? C(1) / static_cast<C>(counts[index]) : C(1);
    for (int64_t first = 0; first < width; first += kBlock) {
      const int64_t n = width - first < kBlock ? width - first : kBlock;
      const C* const x = reader(at[0] + first * stride, stride, n);
      C* const to = sums + index * width + first;
      for (int64_t i = 0; i < n; ++i) to[i] += x[i] * scale;
    }
  });
  return ctx.failure_state() == Error::Ok;
}

int64_t* count_indices(KernelRuntimeContext& ctx, const Strided& indices, int64_t rows) {
  auto* const counts = allocate<int64_t>(ctx, rows);
  if (counts == nullptr) return nullptr;
  std::memset(counts, 0, sizeof(int64_t) * static_cast<size_t>(rows));
  const LoopNest nest(indices, indices);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); ++i) {
      const int64_t index = read<int64_t>(at[0] + i * nest.stride(0), indices.dtype);
      if (index >= 0 && index < rows) ++counts[index];
    }
  });
  return counts;
}

}  // namespace

Tensor& embedding_dense_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_output,
                                     const Tensor& indices, int64_t num_weights,
                                     int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  const Shape picked(indices);
  Shape gradient(grad_output);
  const int64_t width = gradient.rank > 0 ? gradient.sizes[--gradient.rank] : 0;
  if (!expect_index_dtype(ctx, "indices", indices) ||
      !expect_same_dtype(ctx, "grad_output", grad_output, "out", out) ||
      !ET_EXPECT(ctx, is_floating(out.scalar_type()) && grad_output.dim() > 0 && gradient == picked,
                 "grad_output must be floating point and have the shape of indices %s and one "
                 "dimension more, found %s and shape %s",
                 ShapeText(picked).text, name_of(out.scalar_type()), ShapeText(grad_output).text) ||
      !resize(ctx, out, shape_of(num_weights, width))) {
    return out;
  }
  const Strided grad(grad_output), where(indices), to(out);
  // Without elements, a tensor in no memory may have any number of rows.
  const bool is_scaled = scale_grad_by_freq && width > 0;
  const int64_t* const counts = is_scaled ? count_indices(ctx, where, num_weights) : nullptr;
  if (is_scaled && counts == nullptr) return out;
  visit_sum_type(to.dtype, [&](auto tag) {
    using C = ET_TYPE_OF(tag);
    Strided sums = to;
    sums.dtype = dtype_of(compute_type<C>);
    sums.strides[1] = sizeof(C);
    sums.strides[0] = width * int64_t(sizeof(C));
    auto* const memory = allocate<C>(ctx, num_weights * width);
    if (memory == nullptr) return;
    std::memset(memory, 0, sizeof(C) * static_cast<size_t>(num_weights * width));
    sums.data = reinterpret_cast<char*>(memory);
    if (add_rows<C>(ctx, grad, where, padding_idx, num_weights, counts, memory)) {
      copy(ctx, to, sums);
    }
  });
  return out;
}

}  // namespace executorch::kernels::portable
