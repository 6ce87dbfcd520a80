// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indices of nonzero elements.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

/// Calls f(index, first, truth values, n) for runs along the last dimension, in index order.
/// `index` is the line's index in the other dimensions, `first` the run's first index in the line.
template <class F>
void for_each_truth(const Strided& from, F&& f) {
  const int last = from.rank - 1;
  const Strided outer = without(from, last);
  const int64_t length = line_length(from, last), stride = line_stride(from, last);
  Reader<bool> reader(from.dtype);
  IndexWalk lines(outer);
  for (int64_t left = length == 0 ? 0 : outer.numel(); left > 0; --left) {
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

/// Writes the indices of the first `limit` nonzero elements to the rows of out; returns their
/// number. The last index is written for every element and overwritten unless the element was
/// nonzero, which avoids an unpredictable branch.
int64_t write_places(const Strided& from, const Strided& to, int64_t limit) {
  const int last = from.rank - 1;
  const int64_t row_step = to.strides[0], step = to.strides[1];
  int64_t written = 0;
  for_each_truth(from, [&](const int64_t* index, int64_t first, const char* truth, int64_t n) {
    const int64_t before = written;
    int64_t end = before;
    for (int64_t i = 0; i < n && end < limit; ++i) {
      char* const row = to.data + end * row_step;
      if (last >= 0) *reinterpret_cast<int64_t*>(row + last * step) = first + i;
      end += element<bool>(truth, i);
    }
    for (int d = 0; d < last; ++d) {
      for (int64_t k = before; k < end; ++k) {
        *reinterpret_cast<int64_t*>(to.data + k * row_step + d * step) = index[d];
      }
    }
    written = end;
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
      !ET_EXPECT(ctx, size >= 0 && size <= INT32_MAX,
                 "size must be from 0 to 2^31 - 1, found %" PRId64, size) ||
      !resize(ctx, out, shape)) {
    return out;
  }
  Strided rest(out);
  const int64_t places = write_places(from, rest, size);
  rest.narrow(0, places, size - places);
  fill(ctx, rest, Scalar(fill_value));
  return out;
}
}  // namespace executorch::kernels::portable
