// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The shapes that a payload's values take for given inputs. XNNPACK computes them too, but trusts
// that channels, kernels, ranks and orders fit each other: what is verified here is what it takes
// for granted.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

namespace executorch::backends::xnnpack {

struct Shape {
  static constexpr size_t kMaxRank = 6;
  size_t rank = 0;
  uint64_t dims[kMaxRank] = {};
};

/// The declared shape of a value: that of a constant, the largest one of any other.
Shape declared_shape(const fb_xnnpack::TensorValue& tensor);

/// Whether values may have sizes of 0. XNNPACK's operators do not take them.
enum class Emptiness : uint8_t { Refused, Allowed };

/// Checks that the payload's nodes can be run on inputs of these shapes: each reads what has been
/// made before it, each value is made once, the operands of every node fit each other, and no value
/// gets larger than declared.
/// @param inputs One for each input, in order.
/// @return The outputs' shapes, in order.
/// @retval Error::InvalidProgram A node whose operands never fit.
/// @retval Error::InvalidArgument Inputs larger than declared, of another rank or, if that is
/// refused, empty. The log says which node or input.
runtime::Result<std::vector<Shape>> infer_shapes(const Payload& payload,
                                                 runtime::Span<const Shape> inputs,
                                                 Emptiness emptiness = Emptiness::Refused);

/// The same for all values, by id; those that no node makes have their declared shapes.
runtime::Result<std::vector<Shape>> infer_all_shapes(const Payload& payload,
                                                     runtime::Span<const Shape> inputs,
                                                     Emptiness emptiness = Emptiness::Refused);

}  // namespace executorch::backends::xnnpack
