// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A host's own device: its allocator, memory, and tensors on it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/test/utils/DeathTest.h>

namespace {

using executorch::aten::Device;
using executorch::aten::DeviceType;
using executorch::extension::clone_tensor_ptr_to;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::DeviceAllocator;
using executorch::runtime::DeviceMemoryBuffer;
using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::etensor::DeviceIndex;

/// A device whose memory is the host's.
class FakeDevice final : public DeviceAllocator {
 public:
  Result<void*> allocate(size_t nbytes, DeviceIndex index, size_t) override {
    last_index = index;
    if (full) {
      return Error::MemoryAllocationFailed;
    }
    ++alive;
    return malloc(nbytes);
  }
  void deallocate(void* ptr, DeviceIndex) override {
    --alive;
    free(ptr);
  }
  Error copy_host_to_device(void* dst, const void* src, size_t nbytes, DeviceIndex) override {
    memcpy(dst, src, nbytes);
    return Error::Ok;
  }
  Error copy_device_to_host(void* dst, const void* src, size_t nbytes, DeviceIndex) override {
    memcpy(dst, src, nbytes);
    return Error::Ok;
  }
  DeviceType device_type() const override { return DeviceType::CUDA; }

  bool full = false;
  int alive = 0;
  DeviceIndex last_index = 0;
};

FakeDevice& device() {
  static FakeDevice* const registered = [] {
    static FakeDevice fake;
    executorch::runtime::register_device_allocator(&fake);
    return &fake;
  }();
  return *registered;
}

TEST(DeviceAllocatorTest, OneAllocatorIsRegisteredForATypeOfDevice) {
  device();
  EXPECT_EQ(torch::executor::get_device_allocator(DeviceType::CUDA), &device());
  EXPECT_EQ(torch::executor::get_device_allocator(DeviceType::CPU), nullptr);
  FakeDevice second;
  ET_EXPECT_DEATH(executorch::runtime::register_device_allocator(&second),
                  "Allocator already registered");
}

TEST(DeviceMemoryBufferTest, MemoryIsGivenBackOnce) {
  {
    Result<DeviceMemoryBuffer> created = DeviceMemoryBuffer::create(16, device().device_type(), 1);
    ASSERT_TRUE(created.ok());
    DeviceMemoryBuffer buffer = std::move(*created);
    EXPECT_EQ(buffer.as_span().size(), 16u);
    EXPECT_EQ(device().last_index, 1);
    DeviceMemoryBuffer other;
    other = std::move(buffer);
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(device().alive, 1);
  }
  EXPECT_EQ(device().alive, 0);
}

TEST(DeviceMemoryBufferTest, FailuresAreReturned) {
  device().full = true;
  EXPECT_EQ(DeviceMemoryBuffer::create(16, DeviceType::CUDA).error(),
            Error::MemoryAllocationFailed);
  device().full = false;
  EXPECT_EQ(DeviceMemoryBuffer::create(16, DeviceType::CPU).error(), Error::NotFound);
}

TEST(CloneTensorTest, ATensorGoesToTheDeviceAndBack) {
  device();
  const auto tensor = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4});
  {
    const auto there = clone_tensor_ptr_to(tensor, Device(DeviceType::CUDA, 0));
    EXPECT_EQ(there->device_type(), DeviceType::CUDA);
    EXPECT_EQ(device().alive, 1);
    const auto back = clone_tensor_ptr_to(there, DeviceType::CPU);
    EXPECT_EQ(back->device_type(), DeviceType::CPU);
    EXPECT_EQ(back->const_data_ptr<float>()[3], 4);
    EXPECT_NE(back->const_data_ptr(), tensor->const_data_ptr());
    const auto here = clone_tensor_ptr_to(tensor, DeviceType::CPU);
    EXPECT_NE(here->const_data_ptr(), tensor->const_data_ptr());
  }
  EXPECT_EQ(device().alive, 0);
}

}  // namespace
