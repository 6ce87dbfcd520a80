// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/runner_util/inputs.h>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <executorch/extension/module/module.h>

#include "test_paths.h"

namespace {

using namespace executorch::extension;
using executorch::runtime::Error;
using executorch::runtime::Method;

class InputsTest : public testing::Test {
 protected:
  Method& method() { return **module_.method("forward"); }

  Module module_{std::string(TEST_DATA_DIR) + "/peer/add.pte"};
};

float first_output(Method& method) {
  return method.get_output(0).toTensor().const_data_ptr<float>()[0];
}

TEST_F(InputsTest, AreOnesWithoutBytes) {
  const auto inputs = prepare_input_tensors(method());
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(method().execute(), Error::Ok);
  EXPECT_EQ(first_output(method()), 2);
}

TEST_F(InputsTest, AreTheBytesGiven) {
  float a[6] = {5, 0, 0, 0, 0, 0};
  float b[6] = {6, 0, 0, 0, 0, 0};
  const auto inputs = prepare_input_tensors(
      method(), {},
      {{reinterpret_cast<char*>(a), sizeof(a)}, {reinterpret_cast<char*>(b), sizeof(b)}});
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(method().execute(), Error::Ok);
  EXPECT_EQ(first_output(method()), 11);
}

TEST_F(InputsTest, OfAnotherNumberOrSizeAreRefused) {
  char bytes[24] = {};
  EXPECT_EQ(prepare_input_tensors(method(), {}, {{bytes, 24}}).error(), Error::InvalidArgument);
  EXPECT_EQ(prepare_input_tensors(method(), {}, {{bytes, 24}, {bytes, 23}}).error(),
            Error::InvalidArgument);
}

TEST(UnplannedInputsTest, AreReleasedWhenOneOfThemIsRefused) {
  Module module(std::string(TEST_DATA_DIR) + "/peer/add_unplanned.pte");
  Method& method = **module.method("forward");
  char bytes[24] = {};
  EXPECT_EQ(prepare_input_tensors(method, {}, {{bytes, 24}, {bytes, 23}}).error(),
            Error::InvalidArgument);
  // The first input used memory that is freed.
  EXPECT_EQ(method.execute(), Error::InvalidState);
}

TEST_F(InputsTest, StayWithinTheLimits) {
  PrepareInputTensorsOptions options;
  options.max_total_allocation_size = 47;
  EXPECT_EQ(prepare_input_tensors(method(), options).error(), Error::InvalidArgument);
  options = {};
  options.max_inputs = 1;
  EXPECT_EQ(prepare_input_tensors(method(), options).error(), Error::InvalidArgument);
}

TEST(BufferCleanupTest, FreesTheListAndItsBuffersOnce) {
  auto* list = static_cast<void**>(malloc(2 * sizeof(void*)));
  list[0] = malloc(8);
  list[1] = nullptr;
  BufferCleanup first(executorch::runtime::Span<void*>(list, 2));
  const BufferCleanup second(std::move(first));
}

}  // namespace
