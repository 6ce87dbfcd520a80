// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Modules as users derive from them and load them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/backend_options_map.h>

#include "test_paths.h"

namespace {

using executorch::extension::FileDataLoader;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::LoadBackendOptionsMap;
using executorch::runtime::Program;
using executorch::runtime::Result;

std::string path_of(const char* file) { return std::string(TEST_DATA_DIR) + "/peer/" + file; }

/// Counts calls.
class CountingModule final : public executorch::extension::module::Module {
 public:
  using Module::execute;
  using Module::Module;

  Error load(const Program::Verification verification) override {
    ++loads;
    return Module::load(verification);
  }
  Result<std::vector<EValue>> execute(const std::string& method_name,
                                      const std::vector<EValue>& input_values) override {
    ++executions;
    return Module::execute(method_name, input_values);
  }

  int loads = 0;
  int executions = 0;
};

TEST(DerivedModuleTest, EveryExecutionWithInputsPassesByTheOverride) {
  CountingModule module(path_of("add.pte"));
  const auto x = make_tensor_ptr({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(module.forward({x, x}).ok());
  ASSERT_TRUE(module.forward(std::vector<EValue>{x, x}).ok());
  ASSERT_TRUE(module.execute("forward", {x, x}).ok());
  ASSERT_TRUE(module.get("forward", std::vector<EValue>{x, x}).ok());
  ASSERT_TRUE(module.forward(x).ok());  // the second input is the one set before
  EXPECT_EQ(module.executions, 5);
  CountingModule fresh(path_of("add.pte"));
  EXPECT_FALSE(fresh.forward(x).ok());  // one input of two
  EXPECT_GT(module.loads, 0);
  const std::unique_ptr<Module> base = std::make_unique<CountingModule>(path_of("add.pte"));
  EXPECT_FALSE(base->is_loaded());
  EXPECT_TRUE(base->debug_buffer().empty());
}

TEST(LoadTest, AModuleKeepsTheBackendOptionsOfItsLoad) {
  Module module(path_of("add.pte"));
  EXPECT_EQ(module.backend_options(), nullptr);
  const LoadBackendOptionsMap options;
  ASSERT_EQ(module.load(options, Program::Verification::InternalConsistency), Error::Ok);
  EXPECT_EQ(module.backend_options(), &options);
  EXPECT_TRUE(module.is_loaded());
  EXPECT_EQ(module.load_forward(), Error::Ok);
}

TEST(LoadTest, AMappedFileIsReadAhead) {
  Module module(path_of("add.pte"), Module::LoadMode::MmapUseMadvise);
  const auto x = make_tensor_ptr({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const auto outputs = module.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs->at(0).toTensor().const_data_ptr<float>()[5], 12);
}

TEST(LoadTest, ASharedProgramHasWeightsInAFileOfItsOwn) {
  Module first(path_of("external.pte"), path_of("external.ptd"));
  ASSERT_EQ(first.load(), Error::Ok);
  auto weights = FileDataLoader::from(path_of("external.ptd").c_str());
  ASSERT_TRUE(weights.ok());
  Module second(first.program(), nullptr, nullptr, nullptr,
                std::make_unique<FileDataLoader>(std::move(*weights)));
  EXPECT_EQ(second.load_forward(), Error::Ok);
  Module without(first.program());
  EXPECT_NE(without.load_forward(), Error::Ok);
}

}  // namespace
