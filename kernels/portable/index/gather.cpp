// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements or slices picked by an index tensor along one dimension.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/index/positions.h>
#include <executorch/kernels/portable/loops/copy.h>
#include <executorch/kernels/portable/loops/lines.h>

#include <cstring>

namespace executorch::kernels::portable {
namespace {

template <class T>
void pick(char* to, int64_t to_stride, const char* from, int64_t from_stride, const int64_t* index,
          int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(to + i * to_stride) =
        *reinterpret_cast<const T*>(from + index[i] * from_stride);
  }
}

// Every dimension but `dim` of the index fits into self.
bool expect_index_fits(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& index,
                       int dim) {
  if (index.numel() == 0) return true;  // Of any shape and dtype, as in torch.
  if (!expect_index_dtype(ctx, "index", index)) return false;
  const Shape whole(self), picked(index);
  bool fits = (whole.rank > 0 ? whole.rank : 1) == (picked.rank > 0 ? picked.rank : 1);
  for (int d = 0; fits && d < picked.rank && d < whole.rank; ++d) {
    fits = d == dim || picked.sizes[d] <= whole.sizes[d];
  }
  return ET_EXPECT(ctx, fits,
                   "index of shape %s does not fit self of shape %s outside of dimension %d",
                   ShapeText(picked).text, ShapeText(whole).text, dim);
}

void copy_slice(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n,
                int64_t bytes, Convert mover) {
  if (to_stride == bytes && from_stride == bytes) {
    std::memmove(to, from, static_cast<size_t>(n * bytes));
  } else {
    mover(to, to_stride, from, from_stride, n);
  }
}

}  // namespace

Tensor& gather_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                   bool, Tensor& out) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_index_fits(ctx, self, index, d) ||
      !expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, index) ||
      index.numel() == 0) {
    return out;
  }
  const Strided from(self), to(out), where(index);
  const int64_t size = line_length(from, d), length = line_length(where, d);
  Strided cropped = from;  // To the index's sizes: one loop nest serves both.
  for (int i = 0; i < cropped.rank && i < where.rank; ++i) cropped.sizes[i] = where.sizes[i];
  visit_width(from.element_size(), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    Reader<int64_t> indices(where.dtype);
    for_each_line(to, where, cropped, d, [&](char* const* at) {
      for (int64_t first = 0; first < length; first += kBlock) {
        const int64_t n = length - first < kBlock ? length - first : kBlock;
        const int64_t* const index_block =
            indices(at[1] + first * line_stride(where, d), line_stride(where, d), n);
        if (ctx.failure_state() != Error::Ok || !expect_within(ctx, index_block, n, size)) return;
        pick<T>(at[0] + first * line_stride(to, d), line_stride(to, d), at[2], line_stride(from, d),
                index_block, n);
      }
    });
  });
  return out;
}

Tensor& index_select_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         const Tensor& index, Tensor& out) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_index_dtype(ctx, "index", index) ||
      !ET_EXPECT(ctx, index.dim() <= 1, "index must have rank 1, found %d",
                 static_cast<int>(index.dim())) ||
      !expect_same_dtype(ctx, "self", self, "out", out)) {
    return out;
  }
  const Strided from(self), where(index);
  Shape shape(self);
  if (shape.rank > 0) shape.sizes[d] = where.numel();
  if (!resize(ctx, out, shape)) return out;
  const Strided to(out);
  for (int64_t i = 0; i < where.numel(); ++i) {
    const int64_t picked = read<int64_t>(where.data + i * line_stride(where, 0), where.dtype);
    if (!expect_within(ctx, &picked, 1, line_length(from, d))) return out;
    Strided source = from, target = to;
    if (from.rank > 0) {
      source.narrow(d, picked, 1);
      target.narrow(d, i, 1);
    }
    if (!copy(ctx, target, source)) return out;
  }
  return out;
}

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
  Strided lines = where;  // Of out's rank, so that both are taken as lines.
  lines.append(1, 0);
  for_each_line(to, lines, last, [&](char* const* at) {
    int64_t entry;
    read_index(reinterpret_cast<char*>(&entry), 0, at[1], 0, 1);
    if (ctx.failure_state() != Error::Ok || !expect_within(ctx, &entry, 1, entries)) return;
    copy_slice(at[0], to.strides[last], table.data + entry * table.strides[0], table.strides[1],
               width, bytes, mover);
  });
  return out;
}

}  // namespace executorch::kernels::portable
