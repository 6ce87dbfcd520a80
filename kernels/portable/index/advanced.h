// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indexing by several tensors at once, as self[i, :, mask]: what index and index_put share.
#pragma once

#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/strided.h>

namespace executorch::kernels::portable {

/// The indices brought to one shape and turned into places in self.
struct Indexing {
  Shape selected;     // the shape that the index tensors broadcast to
  int place = 0;      // where the dimensions of `selected` begin in the result
  uint32_t mask = 0;  // dimensions of self that are indexed
  Shape result;       // the shape of self[indices]
  /// Bytes from self's start, for each element of `selected` in index order; temporary memory.
  const int64_t* offsets = nullptr;
};

/// Checks the indices against self, whose strides the offsets are made of. False after failing the
/// context. int32, int64, bool and uint8 (as bool) indices; an absent one leaves its dimension
/// whole.
bool resolve(KernelRuntimeContext& ctx, const Strided& self,
             ArrayRef<std::optional<Tensor>> indices, Indexing* indexing);

/// Memory of shape `result`, taken apart: the dimensions of `selected`, and the others. The others
/// are, in order, those of self that are not indexed.
struct Selection {
  Strided selected, rest;
  Selection(const Indexing& indexing, const Strided& result);
};

/// self without its indexed dimensions: what one element of `selected` picks, before its offset.
Strided unindexed(const Indexing& indexing, const Strided& self);

}  // namespace executorch::kernels::portable
