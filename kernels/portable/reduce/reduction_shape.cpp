// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Dimensions that a reduction removes, and the shape of its result.
#include <executorch/kernels/portable/reduce/reduction.h>

namespace executorch::kernels::portable {

bool reduced_dims(KernelRuntimeContext& ctx, const Tensor& self,
                  std::optional<ArrayRef<int64_t>> dims, uint32_t* mask) {
  *mask = ~uint32_t(0);
  if (!dims.has_value() || dims->empty()) return true;
  return expect_dims(ctx, *dims, static_cast<int>(self.dim()), mask);
}

Shape reduced_shape(const Tensor& self, uint32_t mask, bool keepdim) {
  const Shape from(self);
  Shape shape;
  for (int d = 0; d < from.rank; ++d) {
    const bool reduced = (mask >> d & 1) != 0;
    if (!reduced || keepdim) shape.append(reduced ? 1 : from.sizes[d]);
  }
  return shape;
}

int64_t reduced_count(const Tensor& self, uint32_t mask) {
  const Shape from(self);
  int64_t count = 1;
  for (int d = 0; d < from.rank; ++d) {
    if ((mask >> d & 1) != 0) count *= from.sizes[d];
  }
  return count;
}

}  // namespace executorch::kernels::portable
