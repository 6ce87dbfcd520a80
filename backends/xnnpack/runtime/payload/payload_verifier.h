// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::backends::xnnpack {

/// A part of the bytes of a payload, which the message calls `what`.
/// @retval Error::InvalidProgram The bytes end before the part does.
runtime::Result<runtime::Span<const uint8_t>> part_of(runtime::Span<const uint8_t> bytes,
                                                      const char* what, uint64_t offset,
                                                      uint64_t size);

/// Checks values and nodes of a graph against each other and against the payload's constants. The
/// structure of the flatbuffer must have been verified.
/// @retval Error::InvalidProgram The log says what was expected and found.
/// @retval Error::NotSupported A value type or node of a later format.
runtime::Error verify_graph(const fb_xnnpack::XNNGraph& graph,
                            runtime::Span<const uint8_t> constants);

}  // namespace executorch::backends::xnnpack
