// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that treat every row along one dimension by itself.
#pragma once

#include <executorch/kernels/portable/loops/loop_nest.h>

namespace executorch::kernels::portable {

/// One row: n elements, strides in bytes.
struct Row {
  char* out;
  int64_t out_stride;
  const char* in;
  int64_t in_stride;
  int64_t n;
};

/// Calls f(Row) for every row along `dim` of two memories of the same sizes; of rank 0 there is one
/// row of one element.
template <class F>
void for_each_row_along(Strided out, Strided in, int dim, F&& f) {
  if (out.rank == 0) return f(Row{out.data, out.element_size(), in.data, in.element_size(), 1});
  Row row = {nullptr, out.strides[dim], nullptr, in.strides[dim], out.sizes[dim]};
  out.remove(dim);
  in.remove(dim);
  const LoopNest nest(out, in);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); ++i) {
      row.out = at[0] + i * nest.stride(0);
      row.in = at[1] + i * nest.stride(1);
      f(row);
    }
  });
}

}  // namespace executorch::kernels::portable
