// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The payload of an XNNPACK delegate, verified. Little-endian header of 30 bytes:
//
//   0  u32  zero
//   4  4    "XH00"
//   8  u16  bytes of this header: at least 30
//  10  u32  offset of the flatbuffer
//  14  u32  size of the flatbuffer in bytes
//  18  u32  offset of the constants
//  22  u64  size of the constants in bytes
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::backends::xnnpack {

/// A verified payload. All offsets are in range; every value and node has a known kind; operands of
/// nodes are values; each value is defined once; every constant in the payload is within
/// `constants` and has the size of its tensor; arguments are numbered 0, 1, ..., each is one value,
/// and its sizes fit in memory.
struct Payload {
  const fb_xnnpack::XNNGraph* graph;
  runtime::Span<const uint8_t> constants;
  /// The copy of the flatbuffer that contains `graph`.
  std::shared_ptr<const std::vector<uint64_t>> graph_bytes;

  /// @param bytes The flatbuffer is copied. The constants are not copied, and must outlive the
  /// payload.
  /// @retval Error::InvalidProgram The log says what was expected and found.
  /// @retval Error::NotSupported A value type or node of a later format.
  /// @retval Error::MemoryAllocationFailed See copy_graph().
  static runtime::Result<Payload> parse(runtime::Span<const uint8_t> bytes);
};

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

/// The tensor of a value, whatever its kind.
const fb_xnnpack::TensorValue& tensor_of(const fb_xnnpack::XValue& value);

/// The values of a verified graph by their ids; it has one of every id.
std::vector<const fb_xnnpack::XValue*> values_by_id(const fb_xnnpack::XNNGraph& graph);

/// Ids of a verified graph's arguments in the order of the call: inputs, then outputs. The graph's
/// own lists of ids may have another order.
std::vector<uint32_t> argument_ids(const fb_xnnpack::XNNGraph& graph);

/// The size of a tensor in bytes; 0 for types without support for constants. Its sizes must have
/// been verified.
size_t tensor_bytes(const fb_xnnpack::TensorValue& tensor);

/// The offset of constants in the program's named data instead of the payload.
constexpr uint64_t kInNamedData = UINT64_MAX;

}  // namespace executorch::backends::xnnpack
