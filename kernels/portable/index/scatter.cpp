// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements put at the places that an index tensor names along one dimension, and elements counted
// at the places that they name themselves.
#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <type_traits>

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

/// Some elements of src, and the line of the target whose places they name.
struct Run {
  char* line;
  int64_t size, step;  // elements of the line, bytes between them
  const char* from;
  int64_t from_step;
  const int64_t* index;
  int64_t n;
  Merge merge;
};

// Merges the elements of a run; stops at the first index that is outside of the line.
using RunFunction = void (*)(KernelRuntimeContext&, const Run&);

template <class F>
void for_each_place(KernelRuntimeContext& ctx, const Run& run, F f) {
  for (int64_t i = 0; i < run.n; ++i) {
    const int64_t at = load_index(run.index + i);
    if (!expect_within(ctx, at, run.size)) return;
    f(run.line + at * run.step, run.from + i * run.from_step);
  }
}

/// Calls the function for runs over all of src, whose strides may be 0 (a number).
bool for_each_run(KernelRuntimeContext& ctx, const Target& to, const Strided& where,
                  const Strided& src, Merge merge, RunFunction f) {
  Strided cropped = to.memory, values = src;
  for (int i = 0; i < where.rank; ++i) {
    if (i < cropped.rank) cropped.sizes[i] = where.sizes[i];
    if (i < values.rank) values.sizes[i] = where.sizes[i];
  }
  const int64_t length = line_length(where, to.dim), index_step = line_stride(where, to.dim);
  Reader<int64_t> indices(where.dtype);
  Run run{};
  run.size = line_length(to.memory, to.dim);
  run.step = line_stride(to.memory, to.dim);
  run.from_step = line_stride(values, to.dim);
  run.merge = merge;
  for_each_line(cropped, where, values, to.dim, [&](char* const* at) {
    run.line = at[0];
    for (int64_t first = 0; first < length; first += kBlock) {
      if (ctx.failure_state() != Error::Ok) return;
      run.n = std::min(kBlock, length - first);
      run.index = indices(at[1] + first * index_step, index_step, run.n);
      run.from = at[2] + first * run.from_step;
      f(ctx, run);
    }
  });
  return ctx.failure_state() == Error::Ok;
}

template <class T>
void replace_run(KernelRuntimeContext& ctx, const Run& run) {
  for_each_place(ctx, run, [](char* target, const char* x) {
    *reinterpret_cast<T*>(target) = *reinterpret_cast<const T*>(x);
  });
}

template <class T>
void merge_run(KernelRuntimeContext& ctx, const Run& run) {
  using C = std::conditional_t<std::is_integral_v<T>, int64_t, Opmath<T>>;
  for_each_place(ctx, run, [merge = run.merge](char* target, const char* from) {
    const C old = cast<C>(element<T>(target, 0)), x = cast<C>(element<T>(from, 0));
    *reinterpret_cast<T*>(target) = cast<T>(merged(merge, old, x));
  });
}

void count_run(KernelRuntimeContext& ctx, const Run& run) {
  for_each_place(ctx, run,
                 [](char* target, const char*) { ++*reinterpret_cast<int64_t*>(target); });
}

bool merge_into(KernelRuntimeContext& ctx, const Target& to, const Strided& where,
                const Strided& src, Merge merge) {
  if (has_complex && is_complex(to.memory.dtype) && merge == Merge::Add) {
    return merge_into(ctx, {part_of(to.memory, 0), to.dim}, where, part_of(src, 0), merge) &&
           merge_into(ctx, {part_of(to.memory, 1), to.dim}, where, part_of(src, 1), merge);
  }
  RunFunction run = nullptr;
  if (merge == Merge::Replace) {
    visit_width(to.memory.element_size(), [&](auto tag) { run = replace_run<ET_TYPE_OF(tag)>; });
  } else {
    visit(to.memory.dtype, [&](auto tag) { run = merge_run<ET_TYPE_OF(tag)>; });
  }
  return ET_EXPECT(ctx, run != nullptr, "%s cannot be reduced", name_of(to.memory.dtype)) &&
         for_each_run(ctx, to, where, src, merge, run);
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

/// Scatters a number, as one element of out's dtype with strides of 0.
Tensor& scatter_number(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                       const Tensor& index, const Scalar& value, Merge merge, Tensor& out) {
  int d;
  if (!expect_scatter(ctx, self, dim, index, nullptr, out, &d) || index.numel() == 0) return out;
  alignas(kMaxWidth) char element[kMaxWidth];
  Strided repeated;
  repeated.data = element;
  repeated.dtype = out.scalar_type();
  if (!expect_fits(ctx, "value", value, repeated.dtype) || !fill(ctx, repeated, value)) return out;
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

/// Divides every target by the number of elements merged into it.
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
  if (!for_each_run(ctx, tally, where, src, Merge::Mean, count_run)) return false;
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
      // Start from any source element: merging it a second time does not change the result.
      merge_into(ctx, to, where, from, Merge::Replace);
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
