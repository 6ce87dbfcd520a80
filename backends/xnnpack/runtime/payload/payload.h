// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The payload of an XNNPACK delegate, verified. Little-endian header of 30 bytes:
//
//   0  u32  zero
//   4  4    "XH00"
//   8  u16  bytes of this header: at least 30
//  10  u32  offset of the flatbuffer
//  14  u32  bytes of it
//  18  u32  offset of the constants
//  22  u64  bytes of them
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::backends::xnnpack {

/// A payload whose graph may be walked without further checks: all offsets lie inside, every value
/// and node is of a known kind, all operands of nodes are values, each value is defined once, every
/// constant kept in the payload lies in `constants` and has the bytes of its tensor, arguments are
/// numbered 0, 1, ..., each is one value, and its sizes fit in memory.
struct Payload {
  const fb_xnnpack::XNNGraph* graph;
  runtime::Span<const uint8_t> constants;
  /// The copy of the flatbuffer that `graph` lies in.
  std::shared_ptr<const std::vector<uint64_t>> graph_bytes;

  /// @param bytes The flatbuffer is copied; the constants are not, and must outlive the payload.
  /// @retval Error::InvalidProgram After a log message with what was expected and found.
  /// @retval Error::NotSupported A value type or node of a later format.
  static runtime::Result<Payload> parse(runtime::Span<const uint8_t> bytes);
};

/// The tensor of a value, whatever its kind.
const fb_xnnpack::TensorValue& tensor_of(const fb_xnnpack::XValue& value);

/// The values of a verified graph by their ids; it has one of every id.
std::vector<const fb_xnnpack::XValue*> values_by_id(const fb_xnnpack::XNNGraph& graph);

/// The bytes of a tensor of this shape and type; 0 for types whose constants are not supported.
/// Its sizes must have been verified.
size_t tensor_bytes(const fb_xnnpack::TensorValue& tensor);

/// The offset of constants that are not in the payload but among the program's named data.
constexpr uint64_t kInNamedData = UINT64_MAX;

}  // namespace executorch::backends::xnnpack
