// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/compiler.h>

#ifndef EXECUTORCH_OWN_SOURCES  // headers that ExecuTorch 1.4 brings here
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/profiler.h>
#endif

namespace executorch::runtime {

/// Bump allocator over one block of memory; reset() releases all allocations at once. Not
/// thread-safe. The block must outlive the allocator and all allocations.
class MemoryAllocator {
 public:
  static constexpr size_t kDefaultAlignment = alignof(void*);

  /// `base_address` may be null if `size` is 0.
  MemoryAllocator(uint32_t size, uint8_t* base_address);
  MemoryAllocator(const MemoryAllocator&) = delete;
  MemoryAllocator& operator=(const MemoryAllocator&) = delete;
  virtual ~MemoryAllocator() = default;

  /// Returns `size` uninitialized bytes at a multiple of `alignment` (a power of two); nullptr,
  /// after a log message, if the block is exhausted. Zero bytes give a valid, unusable address.
  virtual void* allocate(size_t size, size_t alignment = kDefaultAlignment) {
    return allocate_from_block(size, alignment);
  }

  /// Memory for one T, not constructed; nullptr if there is too little.
  template <typename T>
  T* allocateInstance(size_t alignment = alignof(T)) {
    return static_cast<T*>(allocate(sizeof(T), alignment));
  }

  /// Memory for `count` T, not constructed; nullptr if there is too little.
  template <typename T>
  T* allocateList(size_t count, size_t alignment = alignof(T)) {
    size_t bytes = 0;
    if (mul_overflows(count, sizeof(T), &bytes)) {
      bytes = SIZE_MAX;  // more than any allocator has, so allocate() reports an error
    }
    return static_cast<T*>(allocate(bytes, alignment));
  }

  virtual uint8_t* base_address() const { return begin_; }
  virtual uint32_t size() const { return size_; }
  /// Bytes allocated, those lost to alignment included.
  virtual size_t used_size() const { return used_; }
  virtual size_t free_size() const { return size_ - used_; }
  /// Releases everything: earlier allocations must not be used any more.
  virtual void reset() { used_ = 0; }

  /// Does nothing; see runtime/platform/profiler.h.
  void enable_profiling([[maybe_unused]] const char* name) {}

 protected:
  int32_t prof_id() const { return -1; }
  static constexpr bool isPowerOf2(size_t value) {
    return value != 0 && (value & (value - 1)) == 0;
  }
  /// First multiple of `alignment` (a power of two) at or after `pointer`.
  static uint8_t* alignPointer(void* pointer, size_t alignment) {
    const uintptr_t mask = static_cast<uintptr_t>(alignment) - 1;
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(pointer) + mask) & ~mask);
  }

 private:
  // Every virtual function is inline: an out-of-line one would tie the type information to this
  // library, and code with RTTI could not derive from this class where the library is built
  // without RTTI (for size).
  void* allocate_from_block(size_t size, size_t alignment);

  uint8_t* begin_;
  uint32_t size_;
  size_t used_ = 0;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::MemoryAllocator;
}  // namespace torch::executor
