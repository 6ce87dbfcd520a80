// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/payload.h>

#include <string.h>

#include <executorch/backends/xnnpack/runtime/payload/graph_copy.h>
#include <executorch/backends/xnnpack/runtime/payload/payload_structure.h>
#include <executorch/backends/xnnpack/runtime/payload/shared_parts.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::Result;
using runtime::Span;

namespace {

constexpr size_t kHeaderSize = 30;

template <typename T>
T read(const uint8_t* at) {
  T value;
  memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace

Result<Payload> Payload::parse(Span<const uint8_t> bytes) {
  ET_CHECK_OR_RETURN_ERROR(bytes.size() >= kHeaderSize, InvalidProgram,
                           "xnnpack payload: %zu bytes, expected at least %zu", bytes.size(),
                           kHeaderSize);
  const uint8_t* head = bytes.data();
  ET_CHECK_OR_RETURN_ERROR(memcmp(head + 4, "XH00", 4) == 0 && read<uint16_t>(head + 8) >= 30,
                           InvalidProgram, "xnnpack payload: expected XH00 at byte 4, found '%.4s'",
                           reinterpret_cast<const char*>(head + 4));
  const Span<const uint8_t> graph_bytes =
      ET_UNWRAP(part_of(bytes, "the graph", read<uint32_t>(head + 10), read<uint32_t>(head + 14)));
  const Span<const uint8_t> constants = ET_UNWRAP(
      part_of(bytes, "the constants", read<uint32_t>(head + 18), read<uint64_t>(head + 22)));
  ET_CHECK_OR_RETURN_ERROR(graph_bytes.size() >= 8, InvalidProgram,
                           "xnnpack payload: the graph has %zu bytes, expected at least 8",
                           graph_bytes.size());
  const auto copy = ET_UNWRAP(copy_graph(graph_bytes));
  const Span<const uint8_t> graph(reinterpret_cast<const uint8_t*>(copy->data()),
                                  graph_bytes.size());
  ET_CHECK_OR_RETURN_ERROR(memcmp(graph.data() + 4, fb::XNNGraphIdentifier(), 4) == 0,
                           InvalidProgram, "xnnpack payload: expected a graph of format %s",
                           fb::XNNGraphIdentifier());
  ET_CHECK_OK_OR_RETURN_ERROR(
      runtime::internal::verify_flatbuffer_structure(graph, kPayloadStructure));
  Payload payload{fb::GetXNNGraph(graph.data()), constants, copy};
  ET_CHECK_OK_OR_RETURN_ERROR(verify_graph(*payload.graph, constants));
  ET_CHECK_OK_OR_RETURN_ERROR(check_shared_parts(payload));
  return payload;
}

}  // namespace executorch::backends::xnnpack
