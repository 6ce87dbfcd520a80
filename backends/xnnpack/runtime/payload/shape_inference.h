// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Infers the shapes of a payload's values for given inputs. XNNPACK infers them, too, but does not
// check that channels, kernels, ranks and permutations fit each other; this code does.
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

/// The declared shape of a value: for a constant its shape, otherwise the largest one.
Shape declared_shape(const fb_xnnpack::TensorValue& tensor);

/// Rule for sizes of 0, which XNNPACK's operators refuse.
enum class Emptiness : uint8_t { Refused, Allowed };

/// Checks that the payload's nodes can run on inputs of these shapes: each reads results of earlier
/// nodes, each value has one producer, the operands of every node fit each other, and no value
/// exceeds its declared shape.
/// @param inputs One for each input, in order.
/// @return The outputs' shapes, in order.
/// @retval Error::InvalidProgram A node whose operands never fit.
/// @retval Error::InvalidArgument Inputs larger than declared, of another rank or, if that is
/// refused, empty. The log says which node or input.
runtime::Result<std::vector<Shape>> infer_shapes(const Payload& payload,
                                                 runtime::Span<const Shape> inputs,
                                                 Emptiness emptiness = Emptiness::Refused);

/// The shapes of all values, by id. Values without a producer have their declared shapes.
runtime::Result<std::vector<Shape>> infer_all_shapes(const Payload& payload,
                                                     runtime::Span<const Shape> inputs,
                                                     Emptiness emptiness = Emptiness::Refused);

}  // namespace executorch::backends::xnnpack
