// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/broadcast.h>

namespace executorch::kernels::portable {

bool broadcast(Shape& shape, const Shape& operand) {
  while (shape.rank < operand.rank) shape.insert(0, 1);
  const int offset = shape.rank - operand.rank;
  for (int d = 0; d < operand.rank; ++d) {
    int64_t& size = shape.sizes[offset + d];
    if (size == operand.sizes[d] || operand.sizes[d] == 1) continue;
    if (size != 1) return false;
    size = operand.sizes[d];
  }
  return true;
}

bool expect_broadcast(KernelRuntimeContext& ctx, Shape& shape, const Shape& operand) {
  const Shape before = shape;
  return ET_EXPECT(ctx, broadcast(shape, operand), "shapes %s and %s do not broadcast together",
                   ShapeText(before).text, ShapeText(operand).text);
}

bool broadcasts_to(const Shape& operand, const Shape& shape) {
  Shape widened = shape;
  return operand.rank <= shape.rank && broadcast(widened, operand) && widened == shape;
}

Strided expanded(const Strided& operand, const Shape& shape) {
  Strided result;
  result.data = operand.data;
  result.dtype = operand.dtype;
  const int offset = shape.rank - operand.rank;
  for (int d = 0; d < shape.rank; ++d) {
    const bool repeats = d < offset || operand.sizes[d - offset] != shape.sizes[d];
    result.append(shape.sizes[d], repeats ? 0 : operand.strides[d - offset]);
  }
  return result;
}

}  // namespace executorch::kernels::portable
