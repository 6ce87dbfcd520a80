// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Walks memory in index order, last dimension fastest. Operators whose result depends on that order
// (view, nonzero, masked_select) use it for tensors of any layout.
#pragma once

#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels {

/// True if memory order is index order, without gaps.
bool in_index_order(const Strided& memory);
/// True for images in channels last: (batch, channels, height, width) in the order (batch, height,
/// width, channels), without gaps.
bool in_channels_last_order(const Strided& memory);

/// Iterates over the addresses of the elements. `memory` must outlive it.
class IndexWalk {
 public:
  explicit IndexWalk(const Strided& memory) : memory_(memory), at_(memory.data) {}
  /// Address of the next element; must be called at most once for each element.
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
  /// Index along a dimension of the element that next() will return.
  int64_t index(int dim) const { return index_[dim]; }

 private:
  const Strided& memory_;
  char* at_;
  int64_t index_[Strided::kCapacity] = {};
};

}  // namespace executorch::kernels
