// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// self[indices], and self with values put there.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/index/advanced.h>
#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/copy.h>
#include <executorch/kernels/portable/loops/index_order.h>
#include <executorch/kernels/portable/loops/loop_nest.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>

namespace executorch::kernels::portable {
namespace {

// Calls row(a, b, nest) for every row of what each element of the selection picks: a in memory of
// the result's shape, b in self.
template <class Row>
void for_each_pair(const Indexing& indexing, const Strided& result, const Strided& self, Row row) {
  const Selection part(indexing, result);
  const LoopNest nest(part.rest, unindexed(indexing, self));
  const int64_t n = indexing.selected.numel();
  IndexWalk walk(part.selected);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t shift = walk.next() - part.selected.data, offset = indexing.offsets[i];
    nest.for_each_row([&](char* const* at) { row(at[0] + shift, at[1] + offset, nest); });
  }
}

template <class C>
void accumulate(const Indexing& indexing, const Strided& values, const Strided& self) {
  for_each_pair(indexing, values, self, [&](const char* from, char* to, const LoopNest& nest) {
    for (int64_t i = 0; i < nest.row(); ++i) {
      char* const target = to + i * nest.stride(1);
      write<C>(plus(read<C>(target, self.dtype), read<C>(from + i * nest.stride(0), self.dtype)),
               target, self.dtype);
    }
  });
}

// Writes `values` to self[indices], in place.
void put(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<std::optional<Tensor>> indices,
         const Tensor& values, bool sum) {
  const Strided memory(self);
  Indexing indexing;
  if (!expect_same_dtype(ctx, "self", self, "values", values) ||
      !resolve(ctx, memory, indices, &indexing) ||
      !ET_EXPECT(ctx, broadcasts_to(Shape(values), indexing.result),
                 "values of shape %s do not broadcast to %s", ShapeText(values).text,
                 ShapeText(indexing.result).text)) {
    return;
  }
  const Strided source = expanded(Strided(values), indexing.result);
  if (sum) {
    visit_compute(compute_of(memory.dtype),
                  [&](auto tag) { accumulate<ET_TYPE_OF(tag)>(indexing, source, memory); });
    return;
  }
  const Convert mover = move(memory.element_size());
  for_each_pair(indexing, source, memory, [&](const char* from, char* to, const LoopNest& nest) {
    mover(to, nest.stride(1), from, nest.stride(0), nest.row());
  });
}

}  // namespace

Tensor& index_tensor_out(KernelRuntimeContext& ctx, const Tensor& self,
                         ArrayRef<std::optional<Tensor>> indices, Tensor& out) {
  const Strided memory(self);
  Indexing indexing;
  if (!expect_same_dtype(ctx, "self", self, "out", out) ||
      !resolve(ctx, memory, indices, &indexing) || !resize(ctx, out, indexing.result)) {
    return out;
  }
  const Convert mover = move(memory.element_size());
  if (!ET_EXPECT(ctx, mover != nullptr, "self has a dtype that no kernel can hold")) return out;
  for_each_pair(indexing, Strided(out), memory,
                [&](char* to, const char* from, const LoopNest& nest) {
                  mover(to, nest.stride(0), from, nest.stride(1), nest.row());
                });
  return out;
}

Tensor& index_put_out(KernelRuntimeContext& ctx, const Tensor& self,
                      ArrayRef<std::optional<Tensor>> indices, const Tensor& values,
                      bool accumulate, Tensor& out) {
  if (expect_same_dtype(ctx, "self", self, "out", out) && resize_like(ctx, out, self) &&
      copy(ctx, Strided(out), Strided(self))) {
    put(ctx, out, indices, values, accumulate);
  }
  return out;
}

Tensor& index_put_(KernelRuntimeContext& ctx, Tensor& self, ArrayRef<std::optional<Tensor>> indices,
                   const Tensor& values, bool accumulate) {
  put(ctx, self, indices, values, accumulate);
  return self;
}

}  // namespace executorch::kernels::portable
