// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/graph_copy.h>

#include <string.h>

#include <utility>

#include <executorch/extension/memory_allocator/byte_budget.h>
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Result;
using runtime::Span;

namespace {

constexpr size_t kMemoryPerByte = 16;

/// Bytes of all graphs that exist.
extension::ByteBudget all_graphs;

struct GraphCopy {
  extension::TakenBytes bytes{all_graphs};
  std::vector<uint64_t> words;
};

}  // namespace

size_t max_graph_bytes() { return extension::memory_limit() / kMemoryPerByte; }

Result<std::shared_ptr<const std::vector<uint64_t>>> copy_graph(Span<const uint8_t> bytes) {
  const auto copy = std::make_shared<GraphCopy>();
  ET_CHECK_OR_RETURN_ERROR(
      copy->bytes.take(bytes.size(), max_graph_bytes()), MemoryAllocationFailed,
      "xnnpack payload: the graphs of all delegates have %zu bytes with this one's %zu, expected "
      "at most %zu",
      all_graphs.taken() + bytes.size(), bytes.size(), max_graph_bytes());
  copy->words.resize((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  memcpy(copy->words.data(), bytes.data(), bytes.size());
  return std::shared_ptr<const std::vector<uint64_t>>(copy, &copy->words);
}

}  // namespace executorch::backends::xnnpack
