// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/module.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include "test_paths.h"

namespace {

using namespace executorch::extension;
using executorch::runtime::Error;
using executorch::runtime::EValue;

std::string path_of(const char* name) {
  return std::string(TEST_DATA_DIR) + "/peer/" + name + ".pte";
}

class ModuleTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

class ModuleLoadModeTest : public testing::TestWithParam<Module::LoadMode> {};

TEST_P(ModuleLoadModeTest, AddsTensors) {
  Module module(path_of("add"), GetParam());
  const TensorPtr x = make_tensor_ptr({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const auto outputs = module.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ((*outputs)[0].toTensor().const_data_ptr<float>()[5], 12);
}

INSTANTIATE_TEST_SUITE_P(AllModes, ModuleLoadModeTest,
                         testing::Values(Module::LoadMode::File, Module::LoadMode::Mmap,
                                         Module::LoadMode::MmapUseMlockIgnoreErrors));

TEST_F(ModuleTest, LoadsWhenFirstUsed) {
  Module module(path_of("multi_method"));
  EXPECT_FALSE(module.is_loaded());
  EXPECT_EQ(*module.method_names(), (std::unordered_set<std::string>{"encode", "decode"}));
  EXPECT_TRUE(module.is_loaded());
  EXPECT_FALSE(module.is_method_loaded("encode"));
  ASSERT_EQ(module.load_method("encode"), Error::Ok);
  EXPECT_TRUE(module.is_method_loaded("encode"));
  EXPECT_TRUE(module.unload_method("encode"));
  EXPECT_FALSE(module.unload_method("encode"));
}

TEST_F(ModuleTest, RefusesAMethodThatNeedsMoreMemoryThanAllowed) {
  Module module(path_of("conv"));
  module.set_max_planned_bytes(16);
  EXPECT_EQ(module.load_forward(), Error::MemoryAllocationFailed);
  module.set_max_planned_bytes(0);
  EXPECT_EQ(module.load_forward(), Error::Ok);
}

TEST_F(ModuleTest, CountsOutputsThatTheCallerGivesTowardsTheLimit) {
  Module module(path_of("add_unplanned"));
  const auto meta = module.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  const size_t bytes = meta->output_tensor_meta(0)->nbytes();
  EXPECT_EQ(check_planned_bytes(*meta, bytes - 1), Error::MemoryAllocationFailed);
  EXPECT_EQ(check_planned_bytes(*meta, 0), Error::Ok);
}

void write_seven(executorch::runtime::KernelRuntimeContext&,
                 executorch::runtime::Span<EValue*> arguments) {
  auto out = arguments[arguments.size() - 1]->toTensor();
  std::fill_n(out.mutable_data_ptr<float>(), out.numel(), 7.0f);
}

TEST_F(ModuleTest, AMethodRunsOnKernelsOfItsOwn) {
  Module module(path_of("add"));
  const TensorPtr x = make_tensor_ptr({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  using executorch::runtime::Kernel;
  using Kernels = std::vector<Kernel>;
  EXPECT_EQ(module.load_method("forward", nullptr, nullptr, nullptr,
                               Kernels{Kernel("aten::other.out", &write_seven)}),
            Error::OperatorMissing);
  ASSERT_EQ(module.load_method("forward", nullptr, nullptr, nullptr,
                               Kernels{Kernel("aten::add.out", &write_seven)}),
            Error::Ok);
  EXPECT_EQ((*module.forward({x, x}))[0].toTensor().const_data_ptr<float>()[5], 7);
  ASSERT_TRUE(module.unload_method("forward"));
  ASSERT_EQ(module.load_method("forward", nullptr, nullptr, nullptr, Kernels{}), Error::Ok);
  EXPECT_EQ((*module.forward({x, x}))[0].toTensor().const_data_ptr<float>()[5], 12);
}

TEST_F(ModuleTest, ReturnsEveryOutput) {
  Module module(path_of("multi_method"));
  const TensorPtr x = ones({2, 6});
  const auto outputs = module.execute("decode", x);
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_EQ((*outputs)[1].toTensor().const_data_ptr<float>()[0], 6);
  EXPECT_TRUE(module.get("encode", x)->isTensor());
}

TEST_F(ModuleTest, SharesAProgramThatOutlivesItsModule) {
  std::shared_ptr<executorch::runtime::Program> program;
  {
    Module first(path_of("add"), Module::LoadMode::Mmap);
    ASSERT_EQ(first.load(), Error::Ok);
    program = first.program();
  }
  Module second(program);
  const TensorPtr x = ones({2, 3});
  EXPECT_TRUE(second.forward({x, x}).ok());
}

TEST_F(ModuleTest, RunsOnInputsThatWereSetBefore) {
  Module module(path_of("add"));
  const TensorPtr x = ones({2, 3});
  ASSERT_EQ(module.set_input(x, 0), Error::Ok);
  EXPECT_EQ(module.forward().error(), Error::InvalidState);
  ASSERT_EQ(module.set_inputs({x, x}), Error::Ok);
  ASSERT_TRUE(module.forward().ok());
  EXPECT_EQ(module.get_output()->toTensor().const_data_ptr<float>()[0], 2);
}

TEST_F(ModuleTest, InputsThatWereSetCompleteThoseGiven) {
  Module module(path_of("add"));
  const TensorPtr x = ones({2, 3});
  const TensorPtr y = full({2, 3}, 10);
  ASSERT_EQ(module.set_input(y, 1), Error::Ok);
  EXPECT_EQ(module.get("forward", x)->toTensor().const_data_ptr<float>()[0], 11);
  ASSERT_EQ(module.set_input(executorch::runtime::EValue(), 1), Error::Ok);
  EXPECT_EQ(module.forward(x).error(), Error::InvalidState) << "input 1 was cleared";
  EXPECT_EQ(module.set_input(executorch::runtime::EValue(), 2), Error::InvalidArgument);
  EXPECT_EQ(module.get("forward", {y, y})->toTensor().const_data_ptr<float>()[0], 20);
}

TEST_F(ModuleTest, MethodsShareTheirStateIfArenasAreShared) {
  // add: count += x, returns 2 count; halve: count /= 2, returns count + x.
  const TensorPtr x = ones({3});
  for (const bool shared : {true, false}) {
    Module module(path_of("shared_state"), Module::LoadMode::File, nullptr, nullptr, nullptr,
                  shared);
    const auto first = [&](const char* method) {
      const auto output = module.get(method, x);
      return output.ok() ? output->toTensor().const_data_ptr<float>()[0] : -1.0f;
    };
    EXPECT_EQ(first("add"), 2);
    EXPECT_EQ(module.is_method_loaded("halve"), shared);
    EXPECT_EQ(first("halve"), shared ? 1.5f : 1.0f);
    EXPECT_EQ(first("add"), shared ? 3.0f : 4.0f);
  }
}

TEST_F(ModuleTest, ArenasAreSharedOnlyBeforeAMethodIsLoaded) {
  const TensorPtr x = ones({3});
  Module module(path_of("shared_state"));
  ASSERT_EQ(module.share_memory_arenas(), Error::Ok);
  EXPECT_TRUE(module.get("add", x).ok());
  EXPECT_EQ(module.get("halve", x)->toTensor().const_data_ptr<float>()[0], 1.5f);
  EXPECT_EQ(module.share_memory_arenas(), Error::Ok);

  Module separate(path_of("shared_state"));
  ASSERT_EQ(separate.load_method("add"), Error::Ok);
  EXPECT_EQ(separate.share_memory_arenas(), Error::InvalidState);
}

TEST_F(ModuleTest, WritesOutputsToTheCallersMemory) {
  Module module(path_of("add_unplanned"));
  const TensorPtr x = ones({2, 3});
  const TensorPtr out = zeros({2, 3});
  ASSERT_EQ(module.set_output(out), Error::Ok);
  ASSERT_TRUE(module.forward({x, x}).ok());
  EXPECT_EQ(out->const_data_ptr<float>()[4], 2);
}

TEST_F(ModuleTest, RefusesMemoryForAPlannedOutput) {
  Module module(path_of("add"));
  EXPECT_EQ(module.set_output(zeros({2, 3})), Error::InvalidState);
}

TEST_F(ModuleTest, TakesAListOfOneAndGivesOutputsByIndex) {
  Module module(path_of("mlp_dynamic"));
  const TensorPtr x = ones({3, 8});
  ASSERT_TRUE(module.execute("forward", {x}).ok());
  ASSERT_TRUE(module.forward({x}).ok());
  EXPECT_EQ(module.get("forward", {x})->toTensor().size(1), 4);
  EXPECT_EQ(module.get_output(0)->toTensor().size(0), 3);
  EXPECT_EQ(module.get_output("forward")->toTensor().size(0), 3);
  EXPECT_EQ(module.get_output(1).error(), Error::InvalidArgument);
}

TEST_F(ModuleTest, LoadsFromALoader) {
  std::ifstream file(path_of("add"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Module module(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()));
  const TensorPtr x = ones({2, 3});
  EXPECT_TRUE(module.forward({x, x}).ok());
}

TEST_F(ModuleTest, ReportsFaultsAndStaysUsable) {
  EXPECT_NE(Module("no such file").load(), Error::Ok);
  Module module(path_of("add"));
  EXPECT_EQ(module.execute("backward").error(), Error::InvalidArgument);
  const TensorPtr x = ones({2, 3});
  EXPECT_EQ(module.forward(x).error(), Error::InvalidState);
  EXPECT_EQ(module.forward({x, x, x}).error(), Error::InvalidArgument);
  EXPECT_EQ(module.set_output(executorch::runtime::EValue()), Error::InvalidArgument);
  EXPECT_EQ(module.forward(executorch::runtime::EValue()).error(), Error::InvalidArgument);
  EXPECT_EQ(module.forward({x, ones({2, 3}, executorch::aten::ScalarType::Int)}).error(),
            Error::InvalidArgument);
  EXPECT_EQ(module.forward({x, ones({3, 3})}).error(), Error::InvalidArgument);
  EXPECT_TRUE(module.forward({x, x}).ok());
}

TEST(GrowingAllocatorTest, ContinuesBeyondItsBlock) {
  auto block = HeapBlock::allocate(64);
  ASSERT_TRUE(block.ok());
  GrowingAllocator allocator(std::move(*block));
  EXPECT_NE(allocator.allocate(60), nullptr);
  EXPECT_EQ(allocator.overflow_size(), 0u);
  void* beyond = allocator.allocate(100, 16);
  ASSERT_NE(beyond, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(beyond) % 16, 0u);
  EXPECT_EQ(allocator.overflow_size(), 100u);
  EXPECT_EQ(allocator.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  EXPECT_EQ(allocator.allocate(0, 3), nullptr);
  allocator.reset();
  EXPECT_EQ(allocator.overflow_size(), 0u);
}

TEST_F(ModuleTest, ADataFileThatIsMissingIsTheErrorOfEveryLoadAndNotTheFilesBeforeIt) {
  const std::string data = std::string(TEST_DATA_DIR) + "/peer/external.ptd";
  const std::string program = std::string(TEST_DATA_DIR) + "/peer/external.pte";
  Module module(program, std::vector<std::string>{data, "/no/such/file.ptd"});
  EXPECT_EQ(module.load(), Error::NotFound);
  EXPECT_EQ(module.load(), Error::NotFound);
  Module same_twice(program, std::vector<std::string>{data, data});
  EXPECT_EQ(same_twice.load(), Error::InvalidArgument);
  EXPECT_EQ(same_twice.load(), Error::InvalidArgument);
}

}  // namespace
