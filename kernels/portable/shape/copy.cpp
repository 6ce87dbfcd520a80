// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copies of whole tensors: to another dtype or dim order, several into one, one into several.
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/shape/view.h>

namespace executorch::kernels::portable {
namespace {

/// Ignores the memory format argument: `out` was planned with it, so its dim order is right.
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

/// A given dim order must be that of out.
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
            "out does not have the requested dim_order: dimension %" PRId64 " has stride %" PRId64
            " bytes, expected %" PRId64,
            d, memory.strides[d < 0 ? 0 : d], step)) {
      return false;
    }
    step *= memory.sizes[d];
  }
  return true;
}

/// torch.cat skips empty one-dimensional tensors, whatever the rank of the others.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

const Tensor* first_not_skipped(ArrayRef<Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!is_skipped(tensors[i])) return &tensors[i];
  }
  return nullptr;
}

bool infer_cat(KernelRuntimeContext& ctx, ArrayRef<Tensor> tensors, const Tensor& first, int dim,
               Shape& shape) {
  shape = Shape(first);
  int64_t length = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_skipped(tensors[i])) continue;
    Shape part(tensors[i]);
    const bool ranked = part.rank == shape.rank;
    const int64_t own = ranked ? part.sizes[dim] : 0;
    if (ranked) part.sizes[dim] = shape.sizes[dim];
    if (!ET_EXPECT(ctx, ranked && part == shape,
                   "tensor %zu of shape %s does not fit %s outside of dimension %d", i,
                   ShapeText(tensors[i]).text, ShapeText(shape).text, dim)) {
      return false;
    }
    length += own;
  }
  shape.sizes[dim] = length;
  return true;
}

/// The parts of self along a dimension, one for each output; their number and sizes have been
/// checked.
template <class SizeOf>
void split(KernelRuntimeContext& ctx, const Tensor& self, int dim, ArrayRef<Tensor> out,
           SizeOf size_of_part) {
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    Strided part(self);
    const int64_t size = size_of_part(i);
    part.narrow(dim, start, size);
    Tensor target = out[i];
    copy_view(ctx, part, target);
    if (ctx.failure_state() != Error::Ok) return;
    start += size;
  }
}

bool expect_split(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, int* normalized) {
  return ET_EXPECT(ctx, self.dim() > 0, "split needs a tensor of rank 1 or more, found rank 0") &&
         expect_dim(ctx, dim, static_cast<int>(self.dim()), normalized);
}

bool expect_outputs(KernelRuntimeContext& ctx, int64_t expected, ArrayRef<Tensor> out) {
  return ET_EXPECT(ctx, expected == int64_t(out.size()),
                   "expected %" PRId64 " outputs, out has %zu", expected, out.size());
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

/// Copies between a host and a device, which are the same to these kernels.
Tensor& _h2d_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return copy_all(ctx, self, out);
}
Tensor& _d2h_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
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

Tensor& cat_out(KernelRuntimeContext& ctx, ArrayRef<Tensor> tensors, int64_t dim, Tensor& out) {
  if (!ET_EXPECT(ctx, !tensors.empty(), "cat needs at least one tensor, found none")) return out;
  const Tensor* const first = first_not_skipped(tensors);
  if (first == nullptr) {
    resize(ctx, out, Shape(tensors[0]));
    return out;
  }
  int d;
  Shape shape;
  if (!ET_EXPECT(ctx, first->dim() > 0, "cat needs tensors of rank 1 or more, found rank 0") ||
      !expect_dim(ctx, dim, static_cast<int>(first->dim()), &d) ||
      !infer_cat(ctx, tensors, *first, d, shape) || !resize(ctx, out, shape)) {
    return out;
  }
  const Strided whole(out);
  int64_t start = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_skipped(tensors[i])) continue;
    const Strided source(tensors[i]);
    Strided target = whole;
    target.narrow(d, start, source.sizes[d]);
    start += source.sizes[d];
    if (source.dtype != target.dtype && !expect_castable(ctx, source.dtype, out)) return out;
    if (!copy(ctx, target, source)) return out;
  }
  return out;
}

Tensor& stack_out(KernelRuntimeContext& ctx, ArrayRef<Tensor> tensors, int64_t dim, Tensor& out) {
  if (!ET_EXPECT(ctx, !tensors.empty(), "stack needs at least one tensor, found none")) return out;
  Shape shape(tensors[0]);
  int d;
  if (!ET_EXPECT(ctx, shape.rank < kMaxRank, "the tensors have the highest rank already, %d",
                 kMaxRank) ||
      !expect_dim(ctx, dim, shape.rank + 1, &d)) {
    return out;
  }
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (!ET_EXPECT(ctx, Shape(tensors[i]) == shape, "tensor %zu has shape %s, the first %s", i,
                   ShapeText(tensors[i]).text, ShapeText(shape).text)) {
      return out;
    }
  }
  shape.insert(d, int64_t(tensors.size()));
  if (!resize(ctx, out, shape)) return out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Strided target(out);
    target.narrow(d, int64_t(i), 1);
    target.remove(d);
    const Strided source(tensors[i]);
    if (source.dtype != target.dtype && !expect_castable(ctx, source.dtype, out)) return out;
    if (!copy(ctx, target, source)) return out;
  }
  return out;
}

void split_copy_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t split_size,
                           int64_t dim, ArrayRef<Tensor> out) {
  int d;
  if (!expect_split(ctx, self, dim, &d)) return;
  const int64_t size = self.size(d);
  if (!ET_EXPECT(ctx, split_size > 0 || (split_size == 0 && size == 0),
                 "split_size must be positive, found %" PRId64, split_size)) {
    return;
  }
  const int64_t parts = size == 0 ? 1 : (size - 1) / split_size + 1;
  if (!expect_outputs(ctx, parts, out)) return;
  split(ctx, self, d, out, [&](size_t i) {
    const int64_t left = size - int64_t(i) * split_size;
    return left < split_size ? left : split_size;
  });
}

void split_with_sizes_copy_out(KernelRuntimeContext& ctx, const Tensor& self,
                               ArrayRef<int64_t> split_sizes, int64_t dim, ArrayRef<Tensor> out) {
  int d;
  if (!expect_split(ctx, self, dim, &d) || !expect_outputs(ctx, int64_t(split_sizes.size()), out))
    return;
  int64_t left = self.size(d);
  for (size_t i = 0; i < split_sizes.size(); ++i) {
    if (!ET_EXPECT(ctx, split_sizes[i] >= 0 && split_sizes[i] <= left,
                   "split_sizes[%zu] must be within [0, %" PRId64 "], found %" PRId64, i, left,
                   split_sizes[i])) {
      return;
    }
    left -= split_sizes[i];
  }
  if (!ET_EXPECT(ctx, left == 0,
                 "split_sizes must cover the dimension, %" PRId64 " of its %" PRId64 " are left",
                 left, int64_t(self.size(d)))) {
    return;
  }
  split(ctx, self, d, out, [&](size_t i) { return split_sizes[i]; });
}

void unbind_copy_int_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         ArrayRef<Tensor> out) {
  int d;
  if (!expect_split(ctx, self, dim, &d) || !expect_outputs(ctx, self.size(d), out)) return;
  for (size_t i = 0; i < out.size(); ++i) {
    Tensor target = out[i];
    copy_view(ctx, selected(ctx, self, d, int64_t(i)), target);
    if (ctx.failure_state() != Error::Ok) return;
  }
}

}  // namespace executorch::kernels::portable
