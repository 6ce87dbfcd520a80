// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Slices of tensors along one dimension ("lines"), on which scans, sorts and searches work.
#pragma once

#include <executorch/kernels/loops/memory/loop_nest.h>

namespace executorch::kernels {

/// The memory without one of its dimensions.
inline Strided without(Strided memory, int dim) {
  if (memory.rank > 0) memory.remove(dim);
  return memory;
}

/// Length of the lines along `dim`; a zero-dim tensor is one line of one element.
inline int64_t line_length(const Strided& memory, int dim) {
  return memory.rank > 0 ? memory.sizes[dim] : 1;
}
/// Bytes between a line's elements.
inline int64_t line_stride(const Strided& memory, int dim) {
  return memory.rank > 0 ? memory.strides[dim] : memory.element_size();
}

/// Calls f(char* const* starts) with the first element of each operand's line. The operands have
/// the same sizes except along `dim`. Lines of length 0 are visited too.
template <class F>
void for_each_line(const Strided& a, const Strided& b, const Strided& c, int dim, F&& f) {
  const LoopNest nest(without(a, dim), without(b, dim), without(c, dim));
  nest.for_each_outer(nest.rank(), f);
}
template <class F>
void for_each_line(const Strided& a, const Strided& b, int dim, F&& f) {
  for_each_line(a, b, b, dim, f);
}

}  // namespace executorch::kernels
