// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The lower or upper triangle of each matrix in a batch; zero elsewhere.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/copy.h>

namespace executorch::kernels::portable {
namespace {

int64_t clip(int64_t value, int64_t limit) { return value < 0 ? 0 : value > limit ? limit : value; }

// Row by row over all matrices at once: what is kept of a row lies before (lower) or after (upper)
// a column.
Tensor& triangle(KernelRuntimeContext& ctx, const Tensor& self, int64_t diagonal, bool lower,
                 Tensor& out) {
  if (!ET_EXPECT(ctx, self.dim() >= 2, "self must have rank 2 or more, found %d",
                 static_cast<int>(self.dim())) ||
      !expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self)) {
    return out;
  }
  const Strided from(self), to(out);
  const int row = from.rank - 2, column = from.rank - 1;
  const int64_t rows = from.sizes[row], columns = from.sizes[column];
  const int64_t shift = diagonal < -rows ? -rows : clip(diagonal + rows, rows + columns) - rows;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t split = clip(lower ? r + shift + 1 : r + shift, columns);
    Strided source = from, kept = to, cleared = to;
    for (Strided* part : {&source, &kept, &cleared}) part->narrow(row, r, 1);
    for (Strided* part : {&source, &kept})
      part->narrow(column, lower ? 0 : split, lower ? split : columns - split);
    cleared.narrow(column, lower ? split : 0, lower ? columns - split : split);
    if (!copy(ctx, kept, source) || !fill(ctx, cleared, Scalar(int64_t(0)))) return out;
  }
  return out;
}

}  // namespace

Tensor& tril_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t diagonal, Tensor& out) {
  return triangle(ctx, self, diagonal, true, out);
}
Tensor& triu_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t diagonal, Tensor& out) {
  return triangle(ctx, self, diagonal, false, out);
}

}  // namespace executorch::kernels::portable
