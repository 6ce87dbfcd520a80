// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <gtest/gtest.h>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::runtime::etensor::Device;
using executorch::runtime::etensor::DeviceType;

namespace {

TEST(MemoryAllocatorTest, GivesTheLastByteAndNotOneMore) {
  alignas(16) uint8_t memory[32];
  MemoryAllocator allocator(sizeof(memory), memory);
  EXPECT_EQ(allocator.allocate(31, 1), memory);
  EXPECT_EQ(allocator.free_size(), 1u);
  EXPECT_EQ(allocator.allocate(1, 1), memory + 31);
  EXPECT_EQ(allocator.used_size(), 32u);
  EXPECT_EQ(allocator.free_size(), 0u);
  LogCapture log;
  EXPECT_EQ(allocator.allocate(1, 1), nullptr);
  EXPECT_EQ(log.text(), "1 bytes (aligned to 1) requested, the allocator has 0 of 32 left\n");
  EXPECT_EQ(allocator.used_size(), 32u);
}

TEST(MemoryAllocatorTest, CountsThePaddingOfAlignment) {
  alignas(16) uint8_t memory[32];
  MemoryAllocator allocator(sizeof(memory), memory);
  EXPECT_EQ(allocator.allocate(1, 1), memory);
  EXPECT_EQ(allocator.allocate(8, 8), memory + 8);
  EXPECT_EQ(allocator.used_size(), 16u);
  EXPECT_EQ(allocator.allocate(16, 16), memory + 16);
  EXPECT_EQ(allocator.free_size(), 0u);
}

TEST(MemoryAllocatorTest, AlignsTheAddressAndNotTheOffset) {
  alignas(16) uint8_t memory[32];
  MemoryAllocator allocator(31, memory + 1);
  EXPECT_EQ(allocator.allocate(8, 8), memory + 8);
  EXPECT_EQ(allocator.used_size(), 15u);
}

TEST(MemoryAllocatorTest, PaddingPastTheEndFails) {
  LogCapture log;
  alignas(16) uint8_t memory[16];
  MemoryAllocator allocator(9, memory);
  EXPECT_NE(allocator.allocate(9, 1), nullptr);
  EXPECT_EQ(allocator.allocate(0, 16), nullptr);
  EXPECT_NE(allocator.allocate(0, 1), nullptr);
}

TEST(MemoryAllocatorTest, HugeSizesAndWrongAlignmentsFail) {
  LogCapture log;
  alignas(16) uint8_t memory[16];
  MemoryAllocator allocator(sizeof(memory), memory);
  EXPECT_EQ(allocator.allocate(SIZE_MAX, 8), nullptr);
  EXPECT_EQ(allocator.allocate(SIZE_MAX - 4, 8), nullptr);
  EXPECT_EQ(allocator.allocate(1, 3), nullptr);
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  EXPECT_EQ(allocator.allocateList<uint64_t>(SIZE_MAX / 8 + 2), nullptr);
  EXPECT_EQ(allocator.allocateList<uint64_t>(3), nullptr);
  EXPECT_EQ(allocator.used_size(), 0u);
  EXPECT_NE(allocator.allocateList<uint64_t>(2), nullptr);
}

TEST(MemoryAllocatorTest, AHugeAlignmentEitherFitsOrFails) {
  LogCapture log;
  alignas(16) uint8_t memory[16];
  MemoryAllocator allocator(sizeof(memory), memory);
  const size_t half = size_t{1} << (sizeof(size_t) * 8 - 1);
  EXPECT_EQ(allocator.allocate(1, half), nullptr);
}

TEST(MemoryAllocatorTest, ResetTakesEverythingBack) {
  alignas(16) uint8_t memory[16];
  MemoryAllocator allocator(sizeof(memory), memory);
  EXPECT_EQ(allocator.allocateInstance<uint64_t>(), reinterpret_cast<uint64_t*>(memory));
  allocator.reset();
  EXPECT_EQ(allocator.used_size(), 0u);
  EXPECT_EQ(allocator.allocate(16, 1), memory);
}

TEST(MemoryAllocatorTest, WithoutMemoryEveryAllocationFails) {
  LogCapture log;
  MemoryAllocator allocator(0, nullptr);
  EXPECT_EQ(allocator.allocate(0), nullptr);
  EXPECT_EQ(allocator.allocate(1), nullptr);
  EXPECT_EQ(allocator.free_size(), 0u);
}

class HierarchicalAllocatorTest : public ::testing::Test {
 protected:
  uint8_t first_[10];
  uint8_t second_[20];
  Span<uint8_t> buffers_[2] = {first_, second_};
};

TEST_F(HierarchicalAllocatorTest, GivesAddressesUpToTheEndOfABuffer) {
  HierarchicalAllocator allocator(buffers_);
  EXPECT_EQ(*allocator.get_offset_address(0, 0, 10), first_);
  EXPECT_EQ(*allocator.get_offset_address(1, 19, 1), second_ + 19);
  EXPECT_EQ(*allocator.get_offset_address(1, 20, 0), second_ + 20);
}

TEST_F(HierarchicalAllocatorTest, RefusesRangesOutsideOfABuffer) {
  LogCapture log;
  HierarchicalAllocator allocator(buffers_);
  EXPECT_EQ(allocator.get_offset_address(0, 0, 11).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(allocator.get_offset_address(0, 11, 0).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(allocator.get_offset_address(2, 0, 0).error(), Error::InvalidArgument);
  EXPECT_EQ(allocator.get_offset_address(0, 1, SIZE_MAX).error(), Error::InvalidArgument);
  EXPECT_EQ(allocator.get_offset_address(0, SIZE_MAX, 1).error(), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("11 bytes at offset 0 do not fit planned buffer 0 of 10 bytes"));
}

TEST_F(HierarchicalAllocatorTest, KnowsTheDevicesOfItsBuffers) {
  const Device devices[] = {DeviceType::CPU, Device(DeviceType::CUDA, 1)};
  HierarchicalAllocator allocator(buffers_, devices);
  EXPECT_EQ(allocator.num_buffers(), 2u);
  EXPECT_EQ(allocator.planned_buffer_devices()[1].index(), 1);
  EXPECT_TRUE(HierarchicalAllocator(buffers_).planned_buffer_devices().empty());
}

}  // namespace
