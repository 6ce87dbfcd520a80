// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/bundled_program/bundled_program.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "devtools/bundled_program/bundle_builder.h"
#include "devtools/bundled_program/loaded_bundle.h"

namespace {

using namespace executorch::bundled_program;
using executorch::runtime::Error;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::testing::AlignedBundle;
using executorch::testing::bundle_bytes;
using executorch::testing::BundledCase;
using executorch::testing::BundledTensor;
using executorch::testing::kOnes;
using executorch::testing::kUp;
using executorch::testing::kUpAndOne;
using Loaded = executorch::testing::LoadedBundle;
using executorch::testing::Numbers;

Error open(const std::vector<uint8_t>& bytes) {
  AlignedBundle bundle(bytes);
  return Bundle::open({bundle.data(), bundle.size}).error();
}

TEST(BundledProgramTest, ACasePassesIfItsOutputsAreAsExpected) {
  Loaded loaded(executorch::testing::three_cases());
  ASSERT_EQ(loaded.status, Error::Ok);
  ASSERT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), 0), Error::Ok);
  ASSERT_EQ(loaded.method().execute(), Error::Ok);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 0), Error::Ok);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 1),
            Error::InvalidArgument);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 1, 0, 1), Error::Ok);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 2), Error::NotSupported);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 3),
            Error::InvalidArgument);
}

TEST(BundledProgramTest, StatisticsAreOfAllNumbers) {
  Loaded loaded(executorch::testing::three_cases());
  ASSERT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), 1), Error::Ok);
  ASSERT_EQ(loaded.method().execute(), Error::Ok);
  const ErrorStats stats =
      compute_method_output_error_stats(loaded.method(), loaded.bundle.data(), 1);
  EXPECT_EQ(stats.status, Error::Ok);
  EXPECT_DOUBLE_EQ(stats.mean_abs_error, 1);
  EXPECT_DOUBLE_EQ(stats.max_abs_error, 1);
  // Expected are 0 to 5, each found one higher: 0 has no relative error.
  EXPECT_DOUBLE_EQ(stats.max_relative_error, 1);
  EXPECT_DOUBLE_EQ(stats.mean_relative_error, (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5.) / 5);
  EXPECT_EQ(compute_method_output_error_stats(loaded.method(), loaded.bundle.data(), 2).status,
            Error::NotSupported);
}

TEST(BundledProgramTest, AnOutputInAnotherDimOrderIsComparedByIndex) {
  BundledTensor columns(Numbers{1, 4, 2, 5, 3, 6});
  columns.dim_order = {1, 0};
  Loaded loaded(bundle_bytes({{{kOnes, kUp}, {columns}}}));
  ASSERT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), 0), Error::Ok);
  ASSERT_EQ(loaded.method().execute(), Error::Ok);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 0, 0, 0), Error::Ok);
}

TEST(BundledProgramTest, NaNIsCloseOnlyToNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  Loaded loaded(bundle_bytes(
      {{{kOnes, Numbers{nan, infinity, 2, 3, 4, 5}}, {Numbers{nan, infinity, 3, 4, 5, 6}}},
       {{kOnes, kUp}, {Numbers{nan, 2, 3, 4, 5, 6}}},
       {{kOnes, kUp}, {Numbers{1, infinity, 3, 4, 5, 6}}}}));
  const std::vector<Error> wanted = {Error::Ok, Error::InvalidArgument, Error::InvalidArgument};
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), i), Error::Ok);
    ASSERT_EQ(loaded.method().execute(), Error::Ok);
    EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), i), wanted[i]) << i;
  }
}

TEST(BundledProgramTest, InputsAndOutputsThatAreNotTheMethodsAreRefused) {
  BundledTensor flat(kUp);
  flat.sizes = {6};
  flat.dim_order = {0};
  BundledTensor integers(kUp);
  integers.scalar_type = 3;
  Loaded loaded(bundle_bytes({{{kOnes}, {kUp}},
                              {{kOnes, flat}, {kUp}},
                              {{kOnes, integers}, {kUp}},
                              {{kOnes, kUp}, {flat}},
                              {{kOnes, kUp}, {integers}},
                              {{kOnes, kUp}, {kUp, kUp}}}));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), i), Error::InvalidArgument)
        << i;
  }
  ASSERT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), 3), Error::Ok);
  ASSERT_EQ(loaded.method().execute(), Error::Ok);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 3),
            Error::InvalidArgument);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 4), Error::InvalidType);
  EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 5),
            Error::InvalidArgument);
}

TEST(BundledProgramTest, AMethodWithoutCasesIsNotFound) {
  Loaded loaded(bundle_bytes({{{kOnes, kUp}, {}}}, "backward"));
  EXPECT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), 0), Error::NotFound);
}

TEST(BundledProgramTest, CopiesOfInputsOutliveTheBundle) {
  std::optional<Loaded> loaded(std::in_place, executorch::testing::three_cases());
  const Bundle bundle = *Bundle::open({loaded->bundle.data(), loaded->bundle.size});
  const Result<TestCase> test_case = bundle.suite_of("forward")->test_case(0);
  const Result<InputMemory> inputs = set_inputs(loaded->method(), *test_case);
  ASSERT_TRUE(inputs.ok());
  ASSERT_NE((*inputs)[0], nullptr);
  ASSERT_NE((*inputs)[1], nullptr);
  ASSERT_EQ(loaded->method().execute(), Error::Ok);
  const Result<OutputError> error = output_error(loaded->method(), *test_case, {0, 0});
  ASSERT_TRUE(error.ok());
  EXPECT_EQ(error->count, 6);
  EXPECT_EQ(error->beyond, 0);
}

TEST(BundledProgramTest, TheBundleIsNotLentToAMethodThatWritesToItsInput) {
  const BundledTensor flat = [] {
    BundledTensor tensor(kUp);
    tensor.sizes = {6};
    tensor.dim_order = {0};
    return tensor;
  }();
  Loaded loaded(bundle_bytes({{{kOnes, kUp}, {kUpAndOne}}, {{kOnes, flat}, {}}}, "forward", 2,
                             executorch::testing::program_that_writes_to_its_input()));
  ASSERT_EQ(loaded.status, Error::Ok);
  EXPECT_FALSE(loaded.method().writes_to_given_input(0));
  EXPECT_TRUE(loaded.method().writes_to_given_input(1));
  EXPECT_FALSE(loaded.method().writes_to_given_input(2));
  const std::vector<uint8_t> before = loaded.bundle.memory;
  EXPECT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), 0), Error::NotSupported);
  const TestSuite suite = *Bundle::of_accepted(loaded.bundle.data()).suite_of("forward");
  {
    const Result<InputMemory> inputs = set_inputs(loaded.method(), *suite.test_case(0));
    ASSERT_EQ(inputs.error(), Error::Ok);
    ASSERT_EQ(loaded.method().execute(), Error::Ok);
    EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), 0), Error::Ok);
    EXPECT_EQ(loaded.bundle.memory, before);
  }
  // The second input of this case does not fit: the first one's copy is freed.
  EXPECT_EQ(set_inputs(loaded.method(), *suite.test_case(1)).error(), Error::InvalidArgument);
  EXPECT_EQ(loaded.method().execute(), Error::InvalidState);
}

TEST(BundledProgramTest, OtherBytesAreReportedAsNoBundle) {
  std::vector<uint8_t> program = executorch::testing::add_program();
  EXPECT_FALSE(is_bundled_program(program.data(), program.size()));
  EXPECT_EQ(open(program), Error::NotSupported);
  EXPECT_EQ(open({}), Error::NotSupported);
  std::vector<uint8_t> bundle = executorch::testing::three_cases();
  EXPECT_TRUE(is_bundled_program(bundle.data(), bundle.size()));
  EXPECT_EQ(open(bundle_bytes({}, "forward", 7)), Error::NotSupported);
  EXPECT_EQ(open(bundle_bytes({}, "forward", 0)), Error::Ok) << "our earlier files";
  EXPECT_FALSE(is_bundled_program(nullptr, 100));
}

TEST(BundledProgramTest, AFileOfExecuTorch14IsRead) {
  Loaded loaded(executorch::testing::bytes_of("peer/add.bpte"));
  ASSERT_EQ(loaded.status, Error::Ok);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(load_bundled_input(loaded.method(), loaded.bundle.data(), i), Error::Ok);
    ASSERT_EQ(loaded.method().execute(), Error::Ok);
    EXPECT_EQ(verify_method_outputs(loaded.method(), loaded.bundle.data(), i),
              i == 0 ? Error::Ok : Error::InvalidArgument);
  }
  EXPECT_EQ(load_bundled_input(loaded.method(), nullptr, 0), Error::InvalidArgument);
  EXPECT_EQ(verify_method_outputs(loaded.method(), nullptr, 0), Error::InvalidArgument);
}

TEST(BundledProgramTest, TensorsThatCannotBeAreRefused) {
  const auto with = [](const BundledTensor& tensor) {
    return open(bundle_bytes({{{tensor}, {}}}));
  };
  BundledTensor tensor(kUp);
  EXPECT_EQ(with(tensor), Error::Ok);
  tensor.sizes = {2, 4};
  EXPECT_EQ(with(tensor), Error::InvalidProgram) << "more than there is data";
  tensor.sizes = {-2, -3};
  EXPECT_EQ(with(tensor), Error::InvalidProgram) << "negative sizes";
  tensor.sizes = {1 << 31, 1 << 31};
  EXPECT_EQ(with(tensor), Error::InvalidProgram) << "too many to count";
  tensor.sizes = {2, 3};
  tensor.dim_order = {1, 1};
  EXPECT_EQ(with(tensor), Error::InvalidProgram) << "no permutation";
  tensor.dim_order = {0};
  EXPECT_EQ(with(tensor), Error::InvalidProgram) << "another rank";
  tensor.dim_order = {0, 1};
  tensor.scalar_type = 99;
  EXPECT_EQ(with(tensor), Error::InvalidProgram) << "no type";
}

/// Everything in a verified bundle can be used.
void use(const std::vector<uint8_t>& bytes) {
  Loaded loaded(bytes);
  if (loaded.status != Error::Ok) {
    return;
  }
  const Result<TestSuite> suite = Bundle::of_accepted(loaded.bundle.data()).suite_of("forward");
  for (size_t i = 0; suite.ok() && i < suite->size(); ++i) {
    const Result<TestCase> test_case = suite->test_case(i);
    const Result<InputMemory> inputs = set_inputs(loaded.method(), *test_case);
    if (inputs.ok() && loaded.method().execute() == Error::Ok) {
      (void)output_error(loaded.method(), *test_case, {}).ok();
    }
  }
}

void drop_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*,
                  size_t) {}

TEST(BundledProgramTest, DamagedBundlesAreRefusedOrRun) {
  executorch::runtime::runtime_init();
  // Thousands of refusals would fill the test's output.
  executorch::runtime::register_pal(executorch::runtime::PalImpl::create(&drop_message, __FILE__));
  const std::vector<uint8_t> bytes = executorch::testing::three_cases();
  // The builder writes from the end: the cases lie after the program.
  const std::vector<uint8_t> program = executorch::testing::add_program();
  const size_t first = bytes.size() > program.size() ? program.size() : 0;
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 64) {
    use({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
  }
  std::mt19937 random(1);
  constexpr uint32_t kOdd[] = {0, 1, 2, 4, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
  for (size_t run = 0; run < 3000; ++run) {
    std::vector<uint8_t> damaged = bytes;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t place = run % 2 == 0 ? random() % 64 : first + random() % (bytes.size() - first);
      if (random() % 2 == 0) {
        damaged[place] = static_cast<uint8_t>(random());
      } else {
        memcpy(&damaged[place & ~size_t{3}], &kOdd[random() % std::size(kOdd)], sizeof(uint32_t));
      }
    }
    use(damaged);
  }
}

}  // namespace
