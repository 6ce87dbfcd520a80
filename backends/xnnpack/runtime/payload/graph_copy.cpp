// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/graph_copy.h>

#include <string.h>

#include <atomic>

#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Result;
using runtime::Span;

namespace {

constexpr size_t kMemoryPerByte = 16;

/// Bytes of all graphs that exist.
std::atomic<size_t> all_bytes{0};

/// Counts its bytes as long as it exists.
struct GraphCopy {
  explicit GraphCopy(size_t bytes) : size(bytes), sum(all_bytes.fetch_add(bytes) + bytes) {}
  ~GraphCopy() { all_bytes.fetch_sub(size); }
  GraphCopy(const GraphCopy&) = delete;
  GraphCopy& operator=(const GraphCopy&) = delete;

  size_t size;
  /// Bytes of all graphs with this one, when it was made.
  size_t sum;
  std::vector<uint64_t> words;
};

}  // namespace

size_t max_graph_bytes() {
  const size_t memory = extension::three_quarters_of_memory();
  return memory == 0 ? SIZE_MAX : memory / kMemoryPerByte;
}

Result<std::shared_ptr<const std::vector<uint64_t>>> copy_graph(Span<const uint8_t> bytes) {
  const auto copy = std::make_shared<GraphCopy>(bytes.size());
  ET_CHECK_OR_RETURN_ERROR(
      copy->sum <= max_graph_bytes(), MemoryAllocationFailed,
      "xnnpack payload: the graphs of all delegates have %zu bytes with this one's %zu, expected "
      "at most %zu",
      copy->sum, bytes.size(), max_graph_bytes());
  copy->words.resize((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  memcpy(copy->words.data(), bytes.data(), bytes.size());
  return std::shared_ptr<const std::vector<uint64_t>>(copy, &copy->words);
}

}  // namespace executorch::backends::xnnpack
