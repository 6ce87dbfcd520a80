// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/bundled_module.h>

#include <gtest/gtest.h>

#include <fstream>

#include "devtools/bundled_program/bundle_builder.h"

namespace {

using executorch::extension::BundledModule;
using executorch::runtime::Error;

std::string write_bundle(const std::vector<uint8_t>& bytes) {
  const std::string path = testing::TempDir() + "bundled_module_test.bpte";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

TEST(BundledModuleTest, ItRunsAndComparesTheCasesOfAFile) {
  auto module = BundledModule::from_file(write_bundle(executorch::testing::three_cases()));
  ASSERT_TRUE(module.ok());
  const auto outputs = (*module)->execute("forward", 0);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].toTensor().const_data_ptr<float>()[5], 6);
  EXPECT_EQ((*module)->verify_method_outputs("forward", 0), Error::Ok);
  EXPECT_EQ((*module)->verify_method_outputs("forward", 1), Error::InvalidArgument);
  EXPECT_EQ((*module)->execute("forward", 9).error(), Error::InvalidArgument);
  EXPECT_EQ((*module)->verify_method_outputs("forward", 9), Error::InvalidArgument);
}

TEST(BundledModuleTest, ItRunsFromBytesThatWereVerified) {
  executorch::testing::AlignedBundle bundle(executorch::testing::three_cases());
  const void* program = nullptr;
  size_t size = 0;
  ASSERT_EQ(
      executorch::bundled_program::get_program_data(bundle.data(), bundle.size, &program, &size),
      Error::Ok);
  BundledModule module(bundle.data());
  ASSERT_TRUE(module.execute("forward", 1).ok());
  EXPECT_EQ(module.verify_method_outputs("forward", 1, 0, 1), Error::Ok);
}

TEST(BundledModuleTest, ANullPointerIsAnError) {
  BundledModule module(nullptr);
  EXPECT_FALSE(module.execute("forward", 0).ok());
  EXPECT_NE(module.verify_method_outputs("forward", 0), Error::Ok);
}

TEST(BundledModuleTest, TheProgramOutlivesTheModule) {
  auto module = BundledModule::from_file(write_bundle(executorch::testing::three_cases()));
  ASSERT_EQ((*module)->load(), Error::Ok);
  const auto program = (*module)->program();
  module->reset();
  EXPECT_STREQ(*program->get_method_name(0), "forward");
}

TEST(BundledModuleTest, OtherBytesThanABundleAreRefused) {
  EXPECT_EQ(BundledModule::from_file(write_bundle(executorch::testing::add_program())).error(),
            Error::NotSupported);
  EXPECT_EQ(BundledModule::from_file("/no/such/file.bpte").error(), Error::NotFound);
}

}  // namespace
