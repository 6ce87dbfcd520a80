// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A memory walked in the order of its indices, last dimension fastest: what operators go by whose
// result depends on that order (view, nonzero, masked_select), however the tensor lies in memory.
#pragma once

#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels {

/// Whether memory order is index order, without gaps.
bool in_index_order(const Strided& memory);

/// Gives the elements' places one after the other. `memory` must outlive it.
class IndexWalk {
 public:
  explicit IndexWalk(const Strided& memory) : memory_(memory), at_(memory.data) {}
  /// Where the next element lies; must not be called more often than there are elements.
  char* next() {
    char* const here = at_;
    for (int d = memory_.rank - 1; d >= 0; --d) {
      at_ += memory_.strides[d];
      if (++index_[d] < memory_.sizes[d]) break;
      at_ -= memory_.strides[d] * memory_.sizes[d];
      index_[d] = 0;
    }
    return here;
  }
  /// The index along a dimension of the element that next() will give.
  int64_t index(int dim) const { return index_[dim]; }

 private:
  const Strided& memory_;
  char* at_;
  int64_t index_[Strided::kCapacity] = {};
};

}  // namespace executorch::kernels
