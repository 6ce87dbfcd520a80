// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <utility>

#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime {

/// Memory of a device, freed by the destructor.
class DeviceMemoryBuffer final {
 public:
  /// @retval Error::NotFound No allocator is registered for the type of device. Other errors are
  /// the allocator's.
  static Result<DeviceMemoryBuffer> create(size_t size, etensor::DeviceType type,
                                           etensor::DeviceIndex index = 0,
                                           size_t alignment = DeviceAllocator::kDefaultAlignment) {
    DeviceAllocator* const allocator = get_device_allocator(type);
    ET_CHECK_OR_RETURN_ERROR(allocator != nullptr, NotFound,
                             "no allocator is registered for device type %d",
                             static_cast<int>(type));
    Result<void*> memory = allocator->allocate(size, index, alignment);
    if (!memory.ok()) {
      return memory.error();
    }
    return DeviceMemoryBuffer(*memory, size, allocator, index);
  }

  /// No memory.
  DeviceMemoryBuffer() = default;
  DeviceMemoryBuffer(DeviceMemoryBuffer&& other) noexcept { swap(other); }
  DeviceMemoryBuffer& operator=(DeviceMemoryBuffer&& other) noexcept {
    DeviceMemoryBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  DeviceMemoryBuffer(const DeviceMemoryBuffer&) = delete;
  DeviceMemoryBuffer& operator=(const DeviceMemoryBuffer&) = delete;
  ~DeviceMemoryBuffer() {
    if (ptr_ != nullptr) {
      allocator_->deallocate(ptr_, device_index_);
    }
  }

  /// An address of the device: the host must not dereference it.
  void* data() const { return ptr_; }
  size_t size() const { return size_; }
  Span<uint8_t> as_span() const { return {static_cast<uint8_t*>(ptr_), size_}; }

 private:
  DeviceMemoryBuffer(void* ptr, size_t size, DeviceAllocator* allocator,
                     etensor::DeviceIndex device_index)
      : ptr_(ptr), size_(size), allocator_(allocator), device_index_(device_index) {}

  void swap(DeviceMemoryBuffer& other) {
    std::swap(ptr_, other.ptr_);
    std::swap(size_, other.size_);
    std::swap(allocator_, other.allocator_);
    std::swap(device_index_, other.device_index_);
  }

  void* ptr_ = nullptr;
  size_t size_ = 0;
  DeviceAllocator* allocator_ = nullptr;
  etensor::DeviceIndex device_index_ = 0;
};

}  // namespace executorch::runtime
