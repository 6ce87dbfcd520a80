// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/index/advanced.h>

#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/index_order.h>

namespace executorch::kernels::portable {
namespace {

// One index tensor over one dimension of self.
struct Index {
  Strided memory;
  int dim;
};

struct IndexList {
  Index items[kMaxRank];
  int count = 0;
  Shape selected;
};

bool is_mask(ScalarType dtype) { return dtype == ScalarType::Bool || dtype == ScalarType::Byte; }

// A mask of rank k is k index tensors: the coordinates of its true elements.
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
  IndexWalk walk(memory);
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at[kMaxRank];
    for (int d = 0; d < memory.rank; ++d) at[d] = walk.index(d);
    if (*walk.next() == 0) continue;
    for (int d = 0; d < memory.rank; ++d) coordinates[d * chosen + found] = at[d];
    ++found;
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

// Adds one index tensor's share to the offsets.
bool add_offsets(KernelRuntimeContext& ctx, const Strided& self, const Index& index,
                 const Shape& selected, int64_t* offsets) {
  const Strided memory = expanded(index.memory, selected);
  const Convert reader = load(memory.dtype, Compute::Int64);
  const int64_t n = selected.numel(), size = self.sizes[index.dim],
                stride = self.strides[index.dim];
  IndexWalk walk(memory);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at;
    reader(reinterpret_cast<char*>(&at), 0, walk.next(), 0, 1);
    if (!ET_EXPECT(ctx, at >= -size && at < size,
                   "index %" PRId64 " is outside of dimension %d of size %" PRId64, at, index.dim,
                   size)) {
      return false;
    }
    offsets[i] += (at < 0 ? at + size : at) * stride;
  }
  return true;
}

bool adjacent(uint32_t mask) {
  while ((mask & 1) == 0) mask >>= 1;
  return (mask & (mask + 1)) == 0;
}

}  // namespace

bool resolve(KernelRuntimeContext& ctx, const Strided& self,
             ArrayRef<std::optional<Tensor>> indices, Indexing* indexing) {
  IndexList list;
  if (!collect(ctx, self, indices, &list)) return false;
  indexing->selected = list.selected;
  for (int i = 0; i < list.count; ++i) indexing->mask |= uint32_t(1) << list.items[i].dim;
  const int64_t n = list.selected.numel();
  auto* const offsets = allocate<int64_t>(ctx, n);
  if (offsets == nullptr) return false;
  for (int64_t i = 0; i < n; ++i) offsets[i] = 0;
  for (int i = 0; i < list.count; ++i) {
    if (!add_offsets(ctx, self, list.items[i], list.selected, offsets)) return false;
  }
  indexing->offsets = offsets;
  // Where the indexed dimensions stand together the selection takes their place, else it comes
  // first.
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
  return true;
}

Selection::Selection(const Indexing& indexing, const Strided& result)
    : selected(result), rest(result) {
  selected.rank = rest.rank = 0;
  for (int d = 0; d < result.rank; ++d) {
    const bool chosen = d >= indexing.place && d < indexing.place + indexing.selected.rank;
    (chosen ? selected : rest).append(result.sizes[d], result.strides[d]);
  }
}

Strided unindexed(const Indexing& indexing, const Strided& self) {
  Strided rest = self;
  rest.rank = 0;
  for (int d = 0; d < self.rank; ++d) {
    if ((indexing.mask >> d & 1) == 0) rest.append(self.sizes[d], self.strides[d]);
  }
  return rest;
}

}  // namespace executorch::kernels::portable
