// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory of devices other than the CPU, none of which the runtime itself supports: a host registers
// an allocator for its device, and looks it up here.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>

namespace executorch::runtime {

/// Allocates memory of one type of device, and copies to and from it.
class DeviceAllocator {
 public:
  static constexpr size_t kDefaultAlignment = MemoryAllocator::kDefaultAlignment;

  virtual ~DeviceAllocator() = default;

  /// Allocates `nbytes` bytes on device `index`; `alignment` is a power of two.
  /// @retval Error::MemoryAllocationFailed The device has too little memory.
  virtual Result<void*> allocate(size_t nbytes, etensor::DeviceIndex index,
                                 size_t alignment = kDefaultAlignment) = 0;
  /// Frees what allocate() returned for the same device; null is allowed.
  virtual void deallocate(void* ptr, etensor::DeviceIndex index) = 0;

  /// Both copy synchronously.
  [[nodiscard]] virtual Error copy_host_to_device(void* dst, const void* src, size_t nbytes,
                                                  etensor::DeviceIndex index) = 0;
  [[nodiscard]] virtual Error copy_device_to_host(void* dst, const void* src, size_t nbytes,
                                                  etensor::DeviceIndex index) = 0;

  virtual etensor::DeviceType device_type() const = 0;
};

/// The allocator of each type of device. Registering is not thread-safe: register before
/// the first lookup.
class DeviceAllocatorRegistry final {
 public:
  static DeviceAllocatorRegistry& instance();

  DeviceAllocatorRegistry(const DeviceAllocatorRegistry&) = delete;
  DeviceAllocatorRegistry& operator=(const DeviceAllocatorRegistry&) = delete;

  /// `alloc` must outlive the program. Aborts if an allocator for the same type of device exists.
  void register_allocator(DeviceAllocator* alloc);
  /// Null if there is none.
  DeviceAllocator* get_allocator(etensor::DeviceType type);

 private:
  constexpr DeviceAllocatorRegistry() = default;

  DeviceAllocator* allocators_[etensor::kNumDeviceTypes] = {};
};

/// The same for the process's registry.
void register_device_allocator(DeviceAllocator* alloc);
DeviceAllocator* get_device_allocator(etensor::DeviceType type);

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::DeviceAllocator;
using ::executorch::runtime::DeviceAllocatorRegistry;
using ::executorch::runtime::get_device_allocator;
using ::executorch::runtime::register_device_allocator;
}  // namespace torch::executor
