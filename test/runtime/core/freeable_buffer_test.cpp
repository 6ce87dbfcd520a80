// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <gtest/gtest.h>

#include <utility>

#include "runtime/log_capture.h"

using namespace executorch::runtime;

namespace {

void count_free(void* context, void*, size_t size) { *static_cast<size_t*>(context) += size; }
void count_handle(void* context, uint64_t handle, size_t) {
  *static_cast<uint64_t*>(context) += handle;
}

TEST(FreeableBufferTest, IsFreedOnceHoweverItEnds) {
  size_t freed = 0;
  const char data[3] = {};
  {
    FreeableBuffer buffer(data, 3, count_free, &freed);
    FreeableBuffer moved(std::move(buffer));
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(buffer.size(), 0u);
    EXPECT_EQ(moved.data(), data);
    EXPECT_EQ(freed, 0u);
  }
  EXPECT_EQ(freed, 3u);
  {
    FreeableBuffer buffer(data, 3, count_free, &freed);
    buffer.Free();
    EXPECT_EQ(freed, 6u);
    EXPECT_EQ(buffer.data(), nullptr);
  }
  EXPECT_EQ(freed, 6u);
}

TEST(FreeableBufferTest, AssignmentFreesWhatWasThere) {
  size_t freed = 0;
  const char data[3] = {};
  FreeableBuffer buffer(data, 2, count_free, &freed);
  buffer = FreeableBuffer(data, 3, count_free, &freed);
  EXPECT_EQ(freed, 2u);
  EXPECT_EQ(buffer.size(), 3u);
}

TEST(FreeableBufferTest, AHandleIsNoMemory) {
  LogCapture log;
  uint64_t freed = 0;
  {
    FreeableBuffer buffer(uint64_t{7}, 3, count_handle, &freed);
    FreeableBuffer moved(std::move(buffer));
    EXPECT_EQ(*moved.data_uint64_type(), 7u);
    EXPECT_EQ(moved.data_safe().error(), Error::InvalidType);
  }
  EXPECT_EQ(freed, 7u);
  EXPECT_EQ(FreeableBuffer().data_uint64_type().error(), Error::InvalidType);
  EXPECT_EQ(*FreeableBuffer().data_safe(), nullptr);
}

/// Returns fewer bytes than requested at the end of its data.
class ShortLoader final : public DataLoader {
 public:
  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    return FreeableBuffer(data_ + offset, size < 4 - offset ? size : 4 - offset, nullptr);
  }
  Result<size_t> size() const override { return size_t{4}; }

 private:
  char data_[4] = {'a', 'b', 'c', 'd'};
};

TEST(DataLoaderTest, LoadIntoCopiesWhatLoadGives) {
  LogCapture log;
  ShortLoader loader;
  const DataLoader::SegmentInfo info(DataLoader::SegmentInfo::Type::Constant, 2, "x");
  char buffer[4] = {};
  EXPECT_EQ(loader.load_into(1, 2, info, buffer), Error::Ok);
  EXPECT_STREQ(buffer, "bc");
  EXPECT_EQ(loader.load_into(1, 4, info, buffer), Error::AccessFailed);
  EXPECT_EQ(loader.load_into(1, 2, info, nullptr), Error::InvalidArgument);
}

}  // namespace
