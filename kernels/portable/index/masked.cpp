// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements where a mask is true: filled, selected, replaced.
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/NativeFunctions.h>

namespace executorch::kernels::portable {
namespace {

bool expect_mask(KernelRuntimeContext& ctx, const Tensor& mask) {
  return ET_EXPECT(ctx,
                   mask.scalar_type() == ScalarType::Bool || mask.scalar_type() == ScalarType::Byte,
                   "mask must be bool or uint8, found %s", name_of(mask.scalar_type()));
}

bool common_shape(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mask, Shape* shape) {
  *shape = Shape(self);
  return expect_mask(ctx, mask) && expect_broadcast(ctx, *shape, Shape(mask)) &&
         ET_EXPECT(ctx, is_countable(*shape), "shape %s has more elements than can be counted",
                   ShapeText(*shape).text);
}

/// Copies self to out, in the common shape of self and mask.
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

/// The number of true elements of a mask that is broadcast to `shape`, which it fits.
int64_t count_true(const Strided& mask, const Shape& shape) {
  int64_t count = 0;
  const LoopNest nest(mask, mask);
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); ++i) count += at[0][i * nest.stride(0)] != 0;
  });
  return count == 0 ? 0 : count * (shape.numel() / mask.numel());
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

/// Calls f(line, its step, line of the mask, its step, length) along the last dimension of both.
template <class F>
void for_each_masked_line(const Strided& memory, const Strided& mask, F&& f) {
  const int last = memory.rank - 1;
  const Strided outer = without(memory, last), outer_mask = without(mask, last);
  const int64_t length = line_length(memory, last);
  IndexWalk lines(outer), masks(outer_mask);
  for (int64_t left = length == 0 ? 0 : outer.numel(); left > 0; --left) {
    char* const line = lines.next();
    f(line, line_stride(memory, last), masks.next(), line_stride(mask, last), length);
  }
}

/// Copies the elements where the mask is true to [to, end), in index order. It writes every
/// element, and the next one over an element that was not chosen: branches on the mask are hard to
/// predict.
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

/// Copies the values in order to the places where the mask is true. It stops after the last value,
/// because the mask may have changed since it was counted.
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
  const int64_t count = count_true(Strided(mask), shape);
  selected.append(count);
  if (!resize(ctx, out, selected) || count == 0) return out;
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
  const int64_t needed = count_true(Strided(mask), shape);
  if (!ET_EXPECT(ctx, needed <= source.numel(),
                 "mask has %" PRId64 " true elements, source only %" PRId64 " elements", needed,
                 int64_t(source.numel()))) {
    return out;
  }
  visit_width(to.element_size(), [&](auto tag) { scatter<ET_TYPE_OF(tag)>(to, chosen, from); });
  return out;
}
}  // namespace executorch::kernels::portable
