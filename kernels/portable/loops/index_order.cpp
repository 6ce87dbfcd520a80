// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/index_order.h>

namespace executorch::kernels::portable {

bool in_index_order(const Strided& memory) {
  int64_t step = memory.element_size();
  for (int d = memory.rank - 1; d >= 0; --d) {
    if (memory.sizes[d] != 1 && memory.strides[d] != step) return false;
    step *= memory.sizes[d];
  }
  return true;
}

}  // namespace executorch::kernels::portable
