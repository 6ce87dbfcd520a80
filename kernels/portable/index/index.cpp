// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements selected by several index tensors at once, as self[i, :, mask], and written to the
// places that they name.
#include <executorch/kernels/loops/elementwise/integer_math.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cstring>

namespace executorch::kernels::portable {
namespace {

/// One index tensor over one dimension of self.
struct Index {
  Strided memory;
  int dim;
};

struct IndexList {
  Index items[kMaxRank];
  int count = 0;
  Shape selected;  // the shape that the index tensors broadcast to
};

/// The indices brought to one shape and turned into places in self.
struct Indexing {
  IndexList list;
  int place = 0;      // where the dimensions of `list.selected` begin in the result
  uint32_t mask = 0;  // dimensions of self that are indexed
  Shape result;       // the shape of self[indices]
  // Bytes from self's start, for each selected element in index order; temporary memory.
  const int64_t* offsets = nullptr;
};

bool is_mask(ScalarType dtype) { return dtype == ScalarType::Bool || dtype == ScalarType::Byte; }

/// A mask of rank k is k index tensors: the coordinates of its true elements.
bool add_mask(KernelRuntimeContext& ctx, const Strided& self, const Tensor& mask, int dim,
              IndexList* list) {
  const Strided memory(mask);
  int64_t n = memory.numel(), chosen = 0;
  for (int d = 0; d < memory.rank; ++d) {
    if (!ET_EXPECT(ctx, memory.sizes[d] == self.sizes[dim + d],
                   "a mask of size %" PRId64 " does not fit dimension %d of size %" PRId64,
                   memory.sizes[d], dim + d, self.sizes[dim + d])) {
      return false;
    }
  }
  IndexWalk counting(memory);
  for (int64_t i = 0; i < n; ++i) chosen += *counting.next() != 0;
  auto* const coordinates = allocate<int64_t>(ctx, chosen * memory.rank);
  if (coordinates == nullptr) return false;
  std::memset(coordinates, 0, sizeof(int64_t) * static_cast<size_t>(chosen * memory.rank));
  IndexWalk walk(memory);
  int64_t written = 0;
  // The mask may have changed since it was counted: stop at `chosen`, the available room.
  for (int64_t i = 0; i < n && written < chosen; ++i) {
    int64_t at[kMaxRank];
    for (int d = 0; d < memory.rank; ++d) at[d] = walk.index(d);
    if (*walk.next() == 0) continue;
    for (int d = 0; d < memory.rank; ++d) coordinates[d * chosen + written] = at[d];
    ++written;
  }
  Shape shape;
  shape.append(chosen);
  for (int d = 0; d < memory.rank; ++d) {
    Index& index = list->items[list->count++];
    index.dim = dim + d;
    index.memory.data = reinterpret_cast<char*>(coordinates + d * chosen);
    index.memory.dtype = ScalarType::Long;
    index.memory.append(chosen, sizeof(int64_t));
  }
  return expect_broadcast(ctx, list->selected, shape);
}

bool collect(KernelRuntimeContext& ctx, const Strided& self,
             ArrayRef<std::optional<Tensor>> indices, IndexList* list) {
  int dim = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool present = indices[i].has_value();
    const bool mask = present && is_mask(indices[i]->scalar_type());
    const int taken = mask ? static_cast<int>(indices[i]->dim()) : 1;
    if (!ET_EXPECT(ctx, taken > 0 && dim + taken <= self.rank,
                   "too many indices for self of rank %d", self.rank))
      return false;
    if (mask) {
      if (!add_mask(ctx, self, *indices[i], dim, list)) return false;
    } else if (present) {
      if (!expect_index_dtype(ctx, "an index", *indices[i]) ||
          !expect_broadcast(ctx, list->selected, Shape(*indices[i]))) {
        return false;
      }
      list->items[list->count++] = {Strided(*indices[i]), dim};
    }
    dim += taken;
  }
  return ET_EXPECT(ctx, list->count > 0, "at least one index must be given, found none");
}

/// Adds the share of n indices of one tensor to their offsets.
bool add_offsets(KernelRuntimeContext& ctx, int dim, int64_t size, int64_t stride,
                 const int64_t* at, int64_t n, int64_t* offsets) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = load_index(at + i);
    if (!ET_EXPECT(ctx, index >= -size && index < size,
                   "index %" PRId64 " is outside of dimension %d of size %" PRId64, index, dim,
                   size)) {
      return false;
    }
    offsets[i] += (index < 0 ? index + size : index) * stride;
  }
  return true;
}

bool add_offsets(KernelRuntimeContext& ctx, const Strided& self, const Index& index,
                 const Shape& selected, int64_t* offsets) {
  const Strided memory = expanded(index.memory, selected);
  const int last = memory.rank - 1;
  const int64_t length = line_length(memory, last), step = line_stride(memory, last);
  const Strided outer = without(memory, last);
  Reader<int64_t> reader(memory.dtype);
  IndexWalk lines(outer);
  for (int64_t left = outer.numel(); left > 0; --left) {
    const char* const line = lines.next();
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = std::min(kBlock, length - first);
      if (!add_offsets(ctx, index.dim, self.sizes[index.dim], self.strides[index.dim],
                       reader(line + first * step, step, n), n, offsets)) {
        return false;
      }
      offsets += n;
    }
  }
  return true;
}

bool adjacent(uint32_t mask) {
  while ((mask & 1) == 0) mask >>= 1;
  return (mask & (mask + 1)) == 0;
}

/// Finds the shape of the result. Returns false after failing the context. Indices are int32,
/// int64, bool or uint8 (as bool); an absent index selects its whole dimension.
bool resolve(KernelRuntimeContext& ctx, const Strided& self,
             ArrayRef<std::optional<Tensor>> indices, Indexing* indexing) {
  IndexList& list = indexing->list;
  if (!collect(ctx, self, indices, &list)) return false;
  for (int i = 0; i < list.count; ++i) indexing->mask |= uint32_t(1) << list.items[i].dim;
  // The selection replaces adjacent indexed dimensions; otherwise it comes first.
  indexing->place = adjacent(indexing->mask) ? list.items[0].dim : 0;
  if (!ET_EXPECT(ctx, list.selected.rank + self.rank - list.count <= kMaxRank,
                 "the result's rank would be above %d", kMaxRank)) {
    return false;
  }
  for (int d = 0; d < self.rank; ++d) {
    if ((indexing->mask >> d & 1) == 0) indexing->result.append(self.sizes[d]);
  }
  for (int d = 0; d < list.selected.rank; ++d) {
    indexing->result.insert(indexing->place + d, list.selected.sizes[d]);
  }
  return ET_EXPECT(ctx, is_countable(indexing->result),
                   "indices of shape %s select more elements than can be counted",
                   ShapeText(list.selected).text);
}

/// Checks the indices against self's sizes and computes offsets from self's strides. A result with
/// elements must have been found to fit memory: short index tensors select many elements together.
bool locate(KernelRuntimeContext& ctx, const Strided& self, Indexing* indexing) {
  const IndexList& list = indexing->list;
  const int64_t n = list.selected.numel();
  auto* const offsets = allocate<int64_t>(ctx, n);
  if (offsets == nullptr) return false;
  for (int64_t i = 0; i < n; ++i) offsets[i] = 0;
  for (int i = 0; i < list.count; ++i) {
    if (!add_offsets(ctx, self, list.items[i], list.selected, offsets)) return false;
  }
  indexing->offsets = offsets;
  return true;
}

/// Splits memory of shape `result` into the dimensions of the selection and the rest, which are
/// self's dimensions without an index, in order.
struct Selection {
  Strided selected, rest;

  Selection(const Indexing& indexing, const Strided& result) : selected(result), rest(result) {
    selected.rank = rest.rank = 0;
    for (int d = 0; d < result.rank; ++d) {
      const bool chosen = d >= indexing.place && d < indexing.place + indexing.list.selected.rank;
      (chosen ? selected : rest).append(result.sizes[d], result.strides[d]);
    }
  }
};

/// self without its indexed dimensions: the part that one element of `selected` picks, before its
/// offset.
Strided unindexed(const Indexing& indexing, const Strided& self) {
  Strided rest = self;
  rest.rank = 0;
  for (int d = 0; d < self.rank; ++d) {
    if ((indexing.mask >> d & 1) == 0) rest.append(self.sizes[d], self.strides[d]);
  }
  return rest;
}

/// Calls row(a, b, nest) for every row of the part that each element of the selection picks: a in
/// memory of the result's shape, b in self.
template <class Row>
void for_each_pair(const Indexing& indexing, const Strided& result, const Strided& self, Row row) {
  const Selection part(indexing, result);
  const LoopNest nest(part.rest, unindexed(indexing, self));
  const int64_t n = indexing.list.selected.numel();
  IndexWalk walk(part.selected);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t shift = walk.next() - part.selected.data, offset = indexing.offsets[i];
    nest.for_each_row([&](char* const* at) { row(at[0] + shift, at[1] + offset, nest); });
  }
}

template <class T>
void add(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  using C = std::conditional_t<std::is_integral_v<T>, int64_t, Opmath<T>>;
  for (int64_t i = 0; i < n; ++i) {
    char* const target = to + i * to_stride;
    const C old = cast<C>(element<T>(target, 0)),
            x = cast<C>(element<T>(from + i * from_stride, 0));
    *reinterpret_cast<T*>(target) = cast<T>(plus(old, x));
  }
}

/// Returns a function that adds n elements to n others.
Convert adder(ScalarType dtype) {
  Convert adder = nullptr;
  visit(dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    adder = [](char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
      constexpr int64_t kBytes = sizeof(T);
      to_stride == kBytes&& from_stride == kBytes ? add<T>(to, kBytes, from, kBytes, n)
                                                  : add<T>(to, to_stride, from, from_stride, n);
    };
  });
  return adder;
}

/// Writes `values` to self[indices], in place.
void put(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<std::optional<Tensor>> indices,
         const Tensor& values, bool sum) {
  const Strided memory(self);
  Indexing indexing;
  if (!(sum ? expect_number(ctx, "self", self) : expect_movable(ctx, "self", self)) ||
      !expect_same_dtype(ctx, "self", self, "values", values) ||
      !resolve(ctx, memory, indices, &indexing) ||
      !ET_EXPECT(ctx, broadcasts_to(Shape(values), indexing.result),
                 "values of shape %s do not broadcast to %s", ShapeText(values).text,
                 ShapeText(indexing.result).text) ||
      indexing.result.numel() == 0 || !locate(ctx, memory, &indexing)) {
    return;
  }
  const Strided source = expanded(Strided(values), indexing.result);
  const Convert write_row = sum ? adder(memory.dtype) : move(memory.element_size());
  for_each_pair(indexing, source, memory, [&](const char* from, char* to, const LoopNest& nest) {
    write_row(to, nest.stride(1), from, nest.stride(0), nest.row());
  });
}

}  // namespace

Tensor& index_tensor_out(KernelRuntimeContext& ctx, const Tensor& self,
                         ArrayRef<std::optional<Tensor>> indices, Tensor& out) {
  const Strided memory(self);
  Indexing indexing;
  const Convert mover = move(memory.element_size());
  if (!expect_same_dtype(ctx, "self", self, "out", out) ||
      !ET_EXPECT(ctx, mover != nullptr, "self has a dtype that no kernel can hold") ||
      !resolve(ctx, memory, indices, &indexing) || !resize(ctx, out, indexing.result) ||
      out.numel() == 0 || !locate(ctx, memory, &indexing)) {
    return out;
  }
  for_each_pair(indexing, Strided(out), memory,
                [&](char* to, const char* from, const LoopNest& nest) {
                  mover(to, nest.stride(0), from, nest.stride(1), nest.row());
                });
  return out;
}

Tensor& index_put_out(KernelRuntimeContext& ctx, const Tensor& self,
                      ArrayRef<std::optional<Tensor>> indices, const Tensor& values,
                      bool accumulate, Tensor& out) {
  if (!expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self)) {
    return out;
  }
  // If out is self (state that is updated in place), nothing needs to be copied.
  const bool in_place = out.const_data_ptr() == self.const_data_ptr();
  if (in_place || copy(ctx, Strided(out), Strided(self))) {
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
