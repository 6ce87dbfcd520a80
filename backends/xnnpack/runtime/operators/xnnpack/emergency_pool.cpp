// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/emergency_pool.h>

#include <stdint.h>
#include <string.h>

#include <mutex>

#include <executorch/backends/xnnpack/runtime/operators/library.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kSize = 1 << 18;
constexpr size_t kMaxAlignment = 64;

// The system provides no memory for these pages until they are written.
alignas(kMaxAlignment) uint8_t pool[kSize];
std::mutex mutex;
size_t used = 0;
size_t blocks = 0;
thread_local bool shortage = false;

}  // namespace

void* take_from_pool(size_t size, size_t alignment) {
  shortage = true;
  const std::lock_guard<std::mutex> lock(mutex);
  if (alignment > kMaxAlignment || size > kSize) {
    return nullptr;
  }
  // The size of a block is stored before it.
  const size_t wanted = alignment < alignof(max_align_t) ? alignof(max_align_t) : alignment;
  const size_t start = (used + sizeof(size) + wanted - 1) & ~(wanted - 1);
  if (start > kSize || size > kSize - start) {
    return nullptr;
  }
  memcpy(pool + start - sizeof(size), &size, sizeof(size));
  used = start + size;
  ++blocks;
  return pool + start;
}

bool is_in_pool(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto begin = reinterpret_cast<uintptr_t>(pool);
  return address >= begin && address < begin + kSize;
}

size_t size_in_pool(const void* memory) {
  size_t size = 0;
  memcpy(&size, static_cast<const uint8_t*>(memory) - sizeof(size), sizeof(size));
  return size;
}

void return_to_pool(const void*) {
  const std::lock_guard<std::mutex> lock(mutex);
  --blocks;
  used = blocks == 0 ? 0 : used;
}

void note_shortage() { shortage = true; }
bool has_run_out() { return shortage; }
void forget_shortage() { shortage = false; }

}  // namespace executorch::backends::xnnpack
