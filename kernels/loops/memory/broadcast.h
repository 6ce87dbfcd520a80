// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Broadcasting: the shape that several operands have in common, and an operand seen in that shape.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels {

/// Widens `shape` so that `operand` broadcasts to it; false when the two do not fit together.
bool broadcast(Shape& shape, const Shape& operand);

/// False if the elements of a tensor of this shape could not be counted (kEmptyTensorLimit). Small
/// operands along different dimensions broadcast to such a shape: resize() refuses it, and a kernel
/// that reads elements before it resizes the result must check it.
bool is_countable(const Shape& shape);

/// Same as broadcast(), but fails the context with both shapes in the message.
bool expect_broadcast(KernelRuntimeContext& ctx, Shape& shape, const Shape& operand);

/// Returns true if `operand` broadcasts to `shape` without widening it.
bool broadcasts_to(const Shape& operand, const Shape& shape);

/// The operand with the sizes of `shape`: stride 0 where it repeats. It must broadcast to it.
Strided expanded(const Strided& operand, const Shape& shape);

}  // namespace executorch::kernels
