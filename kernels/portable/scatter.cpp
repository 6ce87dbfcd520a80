// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements put at the places that an index tensor names along one dimension.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/index/positions.h>
#include <executorch/kernels/portable/loops/copy.h>
#include <executorch/kernels/portable/loops/lines.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>

namespace executorch::kernels::portable {
namespace {

enum class Merge { Replace, Add, Multiply, Largest, Smallest, Mean };

template <class C>
C merged(Merge merge, C old, C x) {
  switch (merge) {
    case Merge::Add:
    case Merge::Mean:
      return plus(old, x);
    case Merge::Multiply:
      return times(old, x);
    case Merge::Largest:
      return old != old || old > x ? old : x;
    case Merge::Smallest:
      return old != old || old < x ? old : x;
    default:
      return x;
  }
}

struct Target {
  Strided memory;
  int dim;
};

// The index along `dim` of every element of src, one after the other; `src` may stand still (a
// number).
template <class F>
bool for_each_target(KernelRuntimeContext& ctx, const Target& to, const Strided& where,
                     const Strided& src, F&& f) {
  Strided cropped = to.memory, values = src;
  for (int i = 0; i < where.rank; ++i) {
    if (i < cropped.rank) cropped.sizes[i] = where.sizes[i];
    if (i < values.rank) values.sizes[i] = where.sizes[i];
  }
  const int64_t size = line_length(to.memory, to.dim), length = line_length(where, to.dim);
  const int64_t step = line_stride(to.memory, to.dim), from_step = line_stride(values, to.dim);
  Reader<int64_t> indices(where.dtype);
  for_each_line(cropped, where, values, to.dim, [&](char* const* at) {
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = length - first < kBlock ? length - first : kBlock;
      const int64_t* const block =
          indices(at[1] + first * line_stride(where, to.dim), line_stride(where, to.dim), n);
      if (ctx.failure_state() != Error::Ok || !expect_within(ctx, block, n, size)) return;
      for (int64_t i = 0; i < n; ++i) f(at[0] + block[i] * step, at[2] + (first + i) * from_step);
    }
  });
  return ctx.failure_state() == Error::Ok;
}

bool replace(KernelRuntimeContext& ctx, const Target& to, const Strided& where,
             const Strided& src) {
  const Convert mover = move(to.memory.element_size());
  return for_each_target(ctx, to, where, src,
                         [&](char* target, const char* x) { mover(target, 0, x, 0, 1); });
}

template <class C>
bool merge_as(KernelRuntimeContext& ctx, const Target& to, const Strided& where, const Strided& src,
              Merge merge) {
  const Convert reader = load(to.memory.dtype, compute_type<C>),
                writer = store(compute_type<C>, to.memory.dtype);
  return for_each_target(ctx, to, where, src, [&](char* target, const char* from) {
    C old, x;
    reader(reinterpret_cast<char*>(&old), 0, target, 0, 1);
    reader(reinterpret_cast<char*>(&x), 0, from, 0, 1);
    const C result = merged(merge, old, x);
    writer(target, 0, reinterpret_cast<const char*>(&result), 0, 1);
  });
}

bool merge_into(KernelRuntimeContext& ctx, const Target& to, const Strided& where,
                const Strided& src, Merge merge) {
  if (merge == Merge::Replace) return replace(ctx, to, where, src);
  if (!ET_EXPECT(ctx, kind_of(to.memory.dtype) != Kind::Unsupported, "%s cannot be reduced",
                 name_of(to.memory.dtype))) {
    return false;
  }
  bool done = false;
  visit_compute(compute_of(to.memory.dtype),
                [&](auto tag) { done = merge_as<ET_TYPE_OF(tag)>(ctx, to, where, src, merge); });
  return done;
}

bool expect_scatter(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor* src, Tensor& out, int* d) {
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), d) ||
      !expect_index_dtype(ctx, "index", index) ||
      !expect_same_dtype(ctx, "self", self, "out", out) ||
      (src != nullptr && !expect_same_dtype(ctx, "self", self, "src", *src)) ||
      !resize_like(ctx, out, self) || !copy(ctx, Strided(out), Strided(self))) {
    return false;
  }
  const Shape whole(self), picked(index), values(src != nullptr ? *src : index);
  if (picked.numel() == 0) return true;
  // A number counts as a list of one.
  const auto rank = [](const Shape& shape) { return shape.rank > 0 ? shape.rank : 1; };
  const auto size = [](const Shape& shape, int i) { return shape.rank > 0 ? shape.sizes[i] : 1; };
  bool fits = rank(picked) == rank(whole) && rank(picked) == rank(values);
  for (int i = 0; fits && i < rank(picked); ++i) {
    fits = (i == *d || size(picked, i) <= size(whole, i)) && size(picked, i) <= size(values, i);
  }
  return ET_EXPECT(
      ctx, fits,
      "index of shape %s does not fit self of shape %s and src of shape %s along dimension %d",
      ShapeText(picked).text, ShapeText(whole).text, ShapeText(values).text, *d);
}

Tensor& scatter(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                const Tensor& src, Merge merge, Tensor& out) {
  int d;
  if (expect_scatter(ctx, self, dim, index, &src, out, &d) && index.numel() > 0) {
    merge_into(ctx, {Strided(out), d}, Strided(index), Strided(src), merge);
  }
  return out;
}

// A number, as one element of out's dtype that stands still.
Tensor& scatter_number(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                       const Tensor& index, const Scalar& value, Merge merge, Tensor& out) {
  int d;
  if (!expect_scatter(ctx, self, dim, index, nullptr, out, &d) || index.numel() == 0) return out;
  alignas(kMaxWidth) char element[kMaxWidth];
  Strided repeated;
  repeated.data = element;
  repeated.dtype = out.scalar_type();
  if (!fill(ctx, repeated, value)) return out;
  for (int i = 0; i < static_cast<int>(index.dim()); ++i) repeated.append(index.size(i), 0);
  merge_into(ctx, {Strided(out), d}, Strided(index), repeated, merge);
  return out;
}

bool parse_merge(KernelRuntimeContext& ctx, std::string_view name, Merge* merge) {
  static constexpr struct {
    std::string_view name;
    Merge merge;
  } kNames[] = {{"sum", Merge::Add},           {"add", Merge::Add},   {"prod", Merge::Multiply},
                {"multiply", Merge::Multiply}, {"mean", Merge::Mean}, {"amax", Merge::Largest},
                {"amin", Merge::Smallest}};
  for (const auto& known : kNames) {
    if (known.name == name) {
      *merge = known.merge;
      return true;
    }
  }
  return refuse(ctx, "reduce must be sum, prod, mean, amax or amin, found %.*s",
                static_cast<int>(name.size()), name.data());
}

// Divides every target by the number of elements merged into it.
bool divide_by_counts(KernelRuntimeContext& ctx, const Target& to, const Strided& where,
                      const Strided& src, bool include_self) {
  const int64_t n = to.memory.numel();
  auto* const counts = allocate<int64_t>(ctx, n);
  if (counts == nullptr) return false;
  for (int64_t i = 0; i < n; ++i) counts[i] = include_self ? 1 : 0;
  Target tally{to.memory, to.dim};
  tally.memory.data = reinterpret_cast<char*>(counts);
  tally.memory.dtype = ScalarType::Long;
  for (int i = 0; i < to.memory.rank; ++i) tally.memory.strides[i] *= 8 / to.memory.element_size();
  if (!for_each_target(ctx, tally, where, src,
                       [](char* target, const char*) { ++*reinterpret_cast<int64_t*>(target); })) {
    return false;
  }
  const LoopNest nest(to.memory, tally.memory);
  visit_compute(compute_of(to.memory.dtype), [&](auto tag) {
    using C = ET_TYPE_OF(tag);
    nest.for_each_row([&](char* const* at) {
      for (int64_t i = 0; i < nest.row(); ++i) {
        const int64_t count = *reinterpret_cast<const int64_t*>(at[1] + i * nest.stride(1));
        if (count < 2) continue;
        char* const target = at[0] + i * nest.stride(0);
        const Parameters none;
        const C sum = read<C>(target, to.memory.dtype);
        if constexpr (std::is_integral_v<C>) {
          write<C>(divide_floor(sum, count, Extra<C>(none)), target, to.memory.dtype);
        } else {
          write<C>(sum / static_cast<C>(count), target, to.memory.dtype);
        }
      }
    });
  });
  return true;
}

}  // namespace

Tensor& scatter_src_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                        const Tensor& index, const Tensor& src, Tensor& out) {
  return scatter(ctx, self, dim, index, src, Merge::Replace, out);
}
Tensor& scatter_value_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                          const Tensor& index, const Scalar& value, Tensor& out) {
  return scatter_number(ctx, self, dim, index, value, Merge::Replace, out);
}
Tensor& scatter_add_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                        const Tensor& index, const Tensor& src, Tensor& out) {
  return scatter(ctx, self, dim, index, src, Merge::Add, out);
}

Tensor& scatter_reduce_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                           const Tensor& index, const Tensor& src, std::string_view reduce,
                           Tensor& out) {
  Merge merge = Merge::Replace;
  return parse_merge(ctx, reduce, &merge) ? scatter(ctx, self, dim, index, src, merge, out) : out;
}
Tensor& scatter_value_reduce_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                 const Tensor& index, const Scalar& value, std::string_view reduce,
                                 Tensor& out) {
  Merge merge = Merge::Replace;
  return parse_merge(ctx, reduce, &merge) ? scatter_number(ctx, self, dim, index, value, merge, out)
                                          : out;
}

Tensor& scatter_reduce_two_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                               const Tensor& index, const Tensor& src, std::string_view reduce,
                               bool include_self, Tensor& out) {
  Merge merge = Merge::Replace;
  int d;
  if (!parse_merge(ctx, reduce, &merge) || !expect_scatter(ctx, self, dim, index, &src, out, &d) ||
      index.numel() == 0) {
    return out;
  }
  const Target to{Strided(out), d};
  const Strided where(index), from(src);
  if (!include_self) {
    if (merge == Merge::Largest || merge == Merge::Smallest) {
      replace(ctx, to, where, from);  // Any of them: it takes part again.
    } else {
      scatter_number(ctx, self, dim, index, Scalar(int64_t(merge == Merge::Multiply ? 1 : 0)),
                     Merge::Replace, out);
    }
    if (ctx.failure_state() != Error::Ok) return out;
  }
  if (merge_into(ctx, to, where, from, merge) && merge == Merge::Mean) {
    divide_by_counts(ctx, to, where, from, include_self);
  }
  return out;
}

}  // namespace executorch::kernels::portable
