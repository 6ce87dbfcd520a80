// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Plain copies: to another dtype, another dim order, or the same.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/copy.h>

namespace executorch::kernels::portable {
namespace {

// `out` was planned with the memory format that the operator asks for: its own dim order decides.
Tensor& copy_all(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (resize_like(ctx, out, self)) copy(ctx, Strided(out), Strided(self));
  return out;
}

Tensor& copy_broadcast(KernelRuntimeContext& ctx, const Tensor& src, Tensor& out) {
  const Shape shape(out);
  if (ET_EXPECT(ctx, broadcasts_to(Shape(src), shape), "src of shape %s does not broadcast to %s",
                ShapeText(src).text, ShapeText(shape).text)) {
    copy(ctx, Strided(out), expanded(Strided(src), shape));
  }
  return out;
}

// The dim order asked for, where one is, must be the one that out has.
bool expect_dim_order(KernelRuntimeContext& ctx, const std::optional<ArrayRef<int64_t>>& dim_order,
                      const Tensor& out) {
  if (!dim_order.has_value()) return true;
  const Strided memory(out);
  if (!ET_EXPECT(ctx, dim_order->size() == size_t(memory.rank),
                 "dim_order must have %d items, found %zu", memory.rank, dim_order->size())) {
    return false;
  }
  uint32_t mask;
  if (!expect_dims(ctx, *dim_order, memory.rank, &mask)) return false;
  int64_t step = memory.element_size();
  for (int i = memory.rank - 1; i >= 0; --i) {
    const int64_t d = (*dim_order)[i];
    if (!ET_EXPECT(
            ctx,
            d >= 0 && (memory.sizes[d] <= 1 || memory.numel() == 0 || memory.strides[d] == step),
            "out does not lie in memory in the dim_order asked for: dimension %" PRId64
            " has stride %" PRId64 " bytes, expected %" PRId64,
            d, memory.strides[d < 0 ? 0 : d], step)) {
      return false;
    }
    step *= memory.sizes[d];
  }
  return true;
}

}  // namespace

Tensor& clone_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat>,
                  Tensor& out) {
  return copy_all(ctx, self, out);
}

Tensor& _to_copy_out(KernelRuntimeContext& ctx, const Tensor& self, bool,
                     std::optional<MemoryFormat>, Tensor& out) {
  return copy_all(ctx, self, out);
}

Tensor& alias_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return copy_all(ctx, self, out);
}
Tensor& detach_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return copy_all(ctx, self, out);
}
Tensor& lift_fresh_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return copy_all(ctx, self, out);
}
Tensor& _conj_physical_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return copy_all(ctx, self, out);
}

Tensor& copy_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src, bool,
                 Tensor& out) {
  if (!resize_like(ctx, out, self)) return out;
  return copy_broadcast(ctx, src, out);
}

Tensor& copy_(KernelRuntimeContext& ctx, Tensor& self, const Tensor& src, bool) {
  return copy_broadcast(ctx, src, self);
}

Tensor& _to_dim_order_copy_out(KernelRuntimeContext& ctx, const Tensor& self, bool,
                               std::optional<ArrayRef<int64_t>> dim_order, Tensor& out) {
  if (!resize_like(ctx, out, self) || !expect_dim_order(ctx, dim_order, out)) return out;
  return copy_all(ctx, self, out);
}

Tensor& _clone_dim_order_out(KernelRuntimeContext& ctx, const Tensor& self, bool,
                             std::optional<ArrayRef<int64_t>> dim_order, Tensor& out) {
  return _to_dim_order_copy_out(ctx, self, false, dim_order, out);
}

Tensor& _empty_dim_order_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size,
                             std::optional<ArrayRef<int64_t>> dim_order, Tensor& out) {
  if (ET_EXPECT(ctx, Shape::fits(size), "size must have at most %d items, found %zu", kMaxRank,
                size.size()) &&
      resize(ctx, out, Shape(size))) {
    expect_dim_order(ctx, dim_order, out);
  }
  return out;
}

}  // namespace executorch::kernels::portable
