// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory that a delegate takes besides its workspace, for small files and inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>
#include <backends/xnnpack/two_sizes.h>
#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/physical_memory.h>

#include "runtime/log_capture.h"

namespace executorch::backends::xnnpack {
namespace {

using extension::Module;
using runtime::Error;

std::unique_ptr<Module> module_of(const testing::ProgramFile& file) {
  return std::make_unique<Module>(
      std::make_unique<extension::BufferDataLoader>(file.data(), file.size()));
}

/// Maxima of int8 under a window of 64 x 64 pixels at each of 127 x 127 places. XNNPACK lists the
/// addresses of the pixels under the windows: 12 MB.
TestPayload pooling_by_a_large_window(uint32_t size) {
  TestPayload p;
  p.values = {quantized(input(0, {1, size, size, 1})),
              quantized(output(1, {1, 2 * size - 1, 2 * size - 1, 1}))};
  p.nodes = {{Kind::MaxPooling2d, window({size - 1, size - 1, size - 1, size - 1}, {size, size},
                                         {1, 1}, {1, 1}, {0, 1})}};
  return p;
}

TEST(HiddenMemory, OfALargeWindowCountsTowardsTheLimitOfTheWorkspace) {
  const testing::ProgramFile file(program_of(pooling_by_a_large_window(64)));
  const std::unique_ptr<Module> module = module_of(file);
  LoadOptions<1> limited;
  ASSERT_EQ(limited.options.set_option(max_workspace_bytes_option_key, 1 << 20), Error::Ok);
  const LogCapture log;
  const Error error = module->load_method("forward", nullptr, nullptr, limited.map());
  // Without XNNPACK, the engine pools floats, which takes no addresses.
  EXPECT_EQ(error, has_library() ? Error::MemoryAllocationFailed : Error::Ok);
  EXPECT_EQ(log.contains("MaxPooling2d needs more memory for the addresses of pixels"),
            has_library())
      << log.text();
  EXPECT_EQ(module->load_method("forward"), Error::Ok);
}

TEST(HiddenMemory, OfChangingSizesIsCountedOnce) {
  constexpr int32_t kSize = 64;
  MethodWriter w;
  const int32_t delegate = add_delegate(w, pooling_by_a_large_window(kSize));
  const auto bound = testing::Dynamism::DYNAMIC_BOUND;
  const int32_t x = w.input(w.given(testing::Type::CHAR, {1, kSize, kSize, 1}, bound));
  const int32_t y =
      w.output(w.planned(testing::Type::CHAR, {1, 2 * kSize - 1, 2 * kSize - 1, 1}, bound));
  w.run(testing::delegate(delegate, {x, y}));
  const testing::ProgramFile file(w.finish());
  const std::unique_ptr<Module> module = module_of(file);
  LoadOptions<1> limited;
  ASSERT_EQ(limited.options.set_option(max_workspace_bytes_option_key, 16 << 20), Error::Ok);
  ASSERT_EQ(module->load_method("forward", nullptr, nullptr, limited.map()), Error::Ok);
  std::vector<int8_t> pixels(size_t{kSize} * kSize, 3);
  for (const int32_t size : {1, kSize, 2, kSize - 1, kSize, 3, kSize}) {
    const auto outputs = module->forward(
        extension::from_blob(pixels.data(), {1, size, size, 1}, aten::ScalarType::Char));
    ASSERT_EQ(outputs.error(), Error::Ok) << size;
    EXPECT_EQ((*outputs)[0].toTensor().const_data_ptr<int8_t>()[0], 3);
  }
}

TEST(HiddenMemory, OfAllDelegatesTogetherHasALimit) {
  const size_t memory = extension::three_quarters_of_memory();
  ASSERT_NE(memory, 0u);
  size_t taken = 0;
  ASSERT_TRUE(LibraryMemory(&taken, memory).take(memory - (1 << 20)));
  const testing::ProgramFile file(program_of(pooling_by_a_large_window(64)));
  const std::unique_ptr<Module> module = module_of(file);
  EXPECT_EQ(module->load_method("forward"),
            has_library() ? Error::MemoryAllocationFailed : Error::Ok);
  LibraryMemory::forget(taken);
  EXPECT_EQ(module->load_method("forward"), Error::Ok);
}

TEST(HiddenMemory, InSmallBlocksIsCountedBeyondTheLimitButDoesNotFail) {
  size_t taken = 0;
  LibraryMemory memory(&taken, 100);
  EXPECT_TRUE(memory.take(100));
  EXPECT_FALSE(memory.is_exceeded());
  EXPECT_FALSE(memory.take(1 << 20));
  EXPECT_TRUE(memory.is_exceeded());
  EXPECT_TRUE(memory.take(8));
  EXPECT_EQ(taken, 108u);
  memory.correct(8, 24);
  memory.correct(1000, 0);
  EXPECT_EQ(taken, 0u);
}

class EmptyImages : public ::testing::TestWithParam<Kind> {};

TEST_P(EmptyImages, OfHugeSizesAreReducedWithoutMemoryForThem) {
  constexpr int32_t kWidth = INT32_MAX, kImages = 128;  // together 1 TB in a row each
  const bool is_mean = GetParam() == Kind::GlobalAvgPooling2d;
  TestPayload p;
  p.values = {input(0, {kImages, 1, kWidth, 1}), output(1, {kImages, 1})};
  p.nodes = {{GetParam(), {0, 1}}};
  MethodWriter w;
  const int32_t delegate = add_delegate(w, p);
  const int32_t x = w.input(w.given(testing::Type::FLOAT, {kImages, 0, kWidth, 1}));
  const int32_t y = w.output(w.planned(testing::Type::FLOAT, {kImages, 1}));
  w.run(testing::delegate(delegate, {x, y}));
  const testing::ProgramFile file(w.finish());
  const std::unique_ptr<Module> module = module_of(file);
  float none = 0;
  const auto outputs = module->forward(extension::from_blob(&none, {kImages, 0, kWidth, 1}));
  ASSERT_EQ(outputs.error(), Error::Ok);
  const float* const output = (*outputs)[0].toTensor().const_data_ptr<float>();
  for (int32_t i = 0; i < kImages; ++i) {
    EXPECT_TRUE(is_mean ? std::isnan(output[i]) : output[i] == 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, EmptyImages,
                         ::testing::Values(Kind::GlobalAvgPooling2d, Kind::Sum),
                         [](const auto& info) {
                           return std::string(fb_xnnpack::EnumNameXNodeUnion(info.param));
                         });

}  // namespace
}  // namespace executorch::backends::xnnpack
