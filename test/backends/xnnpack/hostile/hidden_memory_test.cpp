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
#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>

#include "runtime/log_capture.h"

namespace executorch::backends::xnnpack {
namespace {

using extension::Module;
using fb_xnnpack::Datatype;
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

/// x + c with x and c of float16: c is 4 MB in float32.
TestPayload sum_with_a_narrow_constant() {
  TestPayload p;
  constexpr uint32_t kRows = 1u << 14, kColumns = 64;
  p.values = {with(input(0, {1, kColumns}), Datatype::Float16),
              with(output(1, {kRows, kColumns}), Datatype::Float16)};
  const uint32_t c = hostile_constant(p, {kRows, kColumns}, Datatype::Float16);
  p.nodes = {{Kind::Add, {0, c, 1}}};
  return p;
}

/// A linear layer of float16, whose weights have 4 MB in float32 while they are packed to as much.
TestPayload layer_of_narrow_weights() {
  TestPayload p;
  constexpr uint32_t kSide = 1u << 10;
  p.values = {with(input(0, {1, kSide}), Datatype::Float16),
              with(output(1, {1, kSide}), Datatype::Float16)};
  const uint32_t weights = hostile_constant(p, {kSide, kSide}, Datatype::Float16);
  p.nodes = {{Kind::FullyConnected, {0, weights, kNoId, 1}}};
  return p;
}

/// A transposed convolution of bytes with 2.25 MB of weights, which XNNPACK packs.
TestPayload layer_of_the_library() {
  TestPayload p;
  constexpr uint32_t kChannels = 512, kTaps = 3;
  p.values = {quantized(input(0, {1, 2, 2, kChannels})),
              quantized(output(1, {1, 4, 4, kChannels}))};
  const uint32_t weights =
      hostile_constant(p, {kChannels, kTaps, kTaps, kChannels}, Datatype::QInt8);
  p.values[weights] = quantized(p.values[weights]);
  p.values[weights].zero_point = 0;
  p.nodes = {
      {Kind::ConvTranspose2d, window({0, 0, 0, 0}, {kTaps, kTaps}, {1, 1}, {1, 1},
                                     {kChannels, kChannels, 1, 0, 0, 0, weights, kNoId, 1, 0})}};
  return p;
}

/// A constant of 4 MB that does not begin at a multiple of the size of its elements.
TestPayload sum_with_an_unaligned_constant() {
  TestPayload p;
  constexpr uint32_t kRows = 1u << 14, kColumns = 64;
  p.values = {input(0, {1, kColumns}), output(1, {kRows, kColumns})};
  const uint32_t c = hostile_constant(p, {kRows, kColumns});
  p.constants.back().offset += 1;
  p.constant_bytes += 64;
  p.nodes = {{Kind::Add, {0, c, 1}}};
  return p;
}

/// e^(e^x), where e^x has 4 MB.
TestPayload powers() {
  TestPayload p;
  constexpr uint32_t kRows = 1u << 14, kColumns = 64;
  p.values = {input(0, {kRows, kColumns}), output(1, {kRows, kColumns}),
              constant(0, {kRows, kColumns}), constant(0, {kRows, kColumns})};
  p.nodes = {
      {Kind::Exp, {0, 2}}, {Kind::StaticTranspose, {2, 2, 3}, {{0, 1}}}, {Kind::Exp, {3, 1}}};
  return p;
}

struct Taker {
  const char* name;
  TestPayload (*payload)();
  /// Part of the message where the memory does not suffice.
  const char* message;
  /// Only with XNNPACK.
  bool needs_library = false;
};
void PrintTo(const Taker& taker, std::ostream* out) { *out << taker.name; }

TestPayload large_window() { return pooling_by_a_large_window(64); }

constexpr Taker kTakers[] = {
    {"AddressesOfPixels", large_window, "needs more memory for the addresses of pixels", true},
    {"ConvertedConstants", sum_with_a_narrow_constant, "no memory for constants in float32"},
    {"WeightsInFloat32", layer_of_narrow_weights, "bytes of packed weights"},
    {"WeightsThatXnnpackPacks", layer_of_the_library, "no memory for the weights of node", true},
    {"CopiedConstants", sum_with_an_unaligned_constant, "no memory for a copy of a constant"},
    {"Workspaces", powers, "bytes of intermediate results"},
};

class MemoryOfAllDelegates : public ::testing::TestWithParam<Taker> {};

TEST_P(MemoryOfAllDelegates, HasALimit) {
  const Taker& taker = GetParam();
  if (taker.needs_library && !has_library()) {
    GTEST_SKIP() << "without XNNPACK";
  }
  const size_t before = delegate_bytes().taken();
  {
    const testing::ProgramFile file(program_of(taker.payload()));
    LoadOptions<2> options;
    ASSERT_EQ(options.options.set_option(weight_cache_option_key, false), Error::Ok);
    ASSERT_EQ(options.options.set_option(workspace_sharing_mode_option_key,
                                         static_cast<int>(WorkspaceSharingMode::Disabled)),
              Error::Ok);
    const std::unique_ptr<Module> module = module_of(file);
    extension::TakenBytes others(delegate_bytes());
    ASSERT_TRUE(others.take(max_delegate_bytes() - before - (1 << 20), max_delegate_bytes()));
    const LogCapture log;
    EXPECT_EQ(module->load_method("forward", nullptr, nullptr, options.map()),
              Error::MemoryAllocationFailed);
    EXPECT_TRUE(log.contains(taker.message)) << log.text();
    EXPECT_EQ(delegate_bytes().taken(), before + others.size());
    others.resize(0);
    EXPECT_EQ(module->load_method("forward", nullptr, nullptr, options.map()), Error::Ok);
    EXPECT_GT(delegate_bytes().taken(), before + (1 << 20));
  }
  EXPECT_EQ(delegate_bytes().taken(), before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MemoryOfAllDelegates, ::testing::ValuesIn(kTakers),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HiddenMemory, OfEmptyFactorsHasALimit) {
  // Two products of factors without columns: each has 64 KB of zeros in place of a factor.
  constexpr int32_t kRows = 1 << 14, kBytes = 4 * kRows;
  TestPayload p;
  p.values = {input(0, {kRows, 1}), input(1, {1, 1}), output(2, {kRows, 1}),
              constant(0, {kRows, 1}), constant(0, {kRows, 1})};
  p.nodes = {{Kind::BatchMatrixMultiply, {0, 1, 3}},
             {Kind::BatchMatrixMultiply, {0, 1, 4}},
             {Kind::Add, {3, 4, 2}}};
  MethodWriter w;
  const int32_t delegate = add_delegate(w, p);
  const auto bound = testing::Dynamism::DYNAMIC_BOUND;
  const int32_t x = w.input(w.given(testing::Type::FLOAT, {kRows, 1}, bound));
  const int32_t y = w.input(w.given(testing::Type::FLOAT, {1, 1}, bound));
  const int32_t z = w.output(w.planned(testing::Type::FLOAT, {kRows, 1}, bound));
  w.run(testing::delegate(delegate, {x, y, z}));
  const testing::ProgramFile file(w.finish());
  const std::unique_ptr<Module> module = module_of(file);
  ASSERT_EQ(module->load_method("forward"), Error::Ok);
  float none = 0;
  const auto left = extension::from_blob(&none, {kRows, 0});
  const auto right = extension::from_blob(&none, {0, 1});
  {
    extension::TakenBytes others(delegate_bytes());
    ASSERT_TRUE(others.take(max_delegate_bytes() - delegate_bytes().taken() - 3 * kBytes / 2,
                            max_delegate_bytes()));
    const LogCapture log;
    EXPECT_EQ(module->forward({left, right}).error(), Error::MemoryAllocationFailed);
    EXPECT_TRUE(log.contains("bytes for neutral elements")) << log.text();
  }
  EXPECT_EQ(module->forward({left, right}).error(), Error::Ok);
}

TEST(HiddenMemory, InSmallBlocksIsCountedBeyondTheLimitButDoesNotFail) {
  extension::ByteBudget budget;
  extension::TakenBytes taken(budget);
  LibraryMemory memory(&taken, 100, SIZE_MAX);
  EXPECT_TRUE(memory.take(100));
  EXPECT_FALSE(memory.is_exceeded());
  EXPECT_FALSE(memory.take(1 << 20));
  EXPECT_TRUE(memory.is_exceeded());
  EXPECT_TRUE(memory.take(8));
  EXPECT_EQ(taken.size(), 108u);
  memory.correct(8, 24);
  memory.correct(1000, 0);
  EXPECT_EQ(taken.size(), 0u);
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
