// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "runtime/log_capture.h"

using namespace executorch::runtime;

namespace {

TEST(ErrorTest, TheNumbersAreThoseOfThePublicContract) {
  EXPECT_EQ(static_cast<int>(Error::Ok), 0);
  EXPECT_EQ(static_cast<int>(Error::NotSupported), 0x10);
  EXPECT_EQ(static_cast<int>(Error::InvalidArgument), 0x12);
  EXPECT_EQ(static_cast<int>(Error::OperatorMissing), 0x14);
  EXPECT_EQ(static_cast<int>(Error::InvalidProgram), 0x23);
  EXPECT_EQ(static_cast<int>(Error::OutOfResources), 0x25);
  EXPECT_EQ(static_cast<int>(Error::DelegateInvalidHandle), 0x32);
}

TEST(ErrorTest, EveryErrorHasAName) {
  EXPECT_STREQ(to_string(Error::Ok), "Error::Ok");
  EXPECT_STREQ(to_string(Error::DelegateMemoryAllocationFailed),
               "Error::DelegateMemoryAllocationFailed");
  EXPECT_STREQ(to_string(static_cast<Error>(0x77)), "Error::Unknown");
}

TEST(ErrorTest, NamesAreConstantExpressions) {
  constexpr std::string_view kName = to_string(Error::NotFound);
  static_assert(kName == "Error::NotFound");
  static_assert(std::string_view(to_string(static_cast<Error>(0x77))) == "Error::Unknown");
}

Error check(int value) {
  ET_CHECK_OR_RETURN_ERROR(value > 0, InvalidArgument, "value %d", value);
  return Error::Ok;
}
Error check_twice(int value) {
  ET_CHECK_OK_OR_RETURN_ERROR(check(value));
  ET_CHECK_OK_OR_RETURN_ERROR(check(value - 1), "after %d", value);
  return Error::Ok;
}

TEST(ErrorTest, TheChecksReturnTheErrorAndLogWhatTheyAreGiven) {
  LogCapture log;
  EXPECT_EQ(check_twice(2), Error::Ok);
  EXPECT_TRUE(log.messages().empty());
  EXPECT_EQ(check_twice(0), Error::InvalidArgument);
  EXPECT_EQ(log.text(), "value 0\n");
  EXPECT_EQ(check_twice(1), Error::InvalidArgument);
  EXPECT_EQ(log.text(), "value 0\nvalue 0\nafter 1\n");
}

TEST(ResultTest, HoldsAValueOrAnError) {
  Result<int> value(3);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 3);
  EXPECT_EQ(value.error(), Error::Ok);
  Result<int> error(Error::NotFound);
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.error(), Error::NotFound);
}

TEST(ResultTest, OkIsNoError) { EXPECT_EQ(Result<int>(Error::Ok).error(), Error::Internal); }

TEST(ResultTest, MovesWhatCannotBeCopiedAndDestroysItOnce) {
  auto counter = std::make_shared<int>(0);
  {
    Result<std::shared_ptr<int>> result(counter);
    Result<std::shared_ptr<int>> moved(std::move(result));
    EXPECT_EQ(moved->get(), counter.get());
    EXPECT_EQ(counter.use_count(), 2);
  }
  EXPECT_EQ(counter.use_count(), 1);
  Result<std::unique_ptr<int>> unique(std::make_unique<int>(5));
  std::unique_ptr<int> taken = std::move(*unique);
  EXPECT_EQ(*taken, 5);
}

Result<int> half(int value) {
  if (value % 2 != 0) {
    return Error::InvalidArgument;
  }
  return value / 2;
}
Result<int> quarter(int value) {
  const int once = ET_UNWRAP(half(value));
  return ET_UNWRAP(half(once), "%d is not a multiple of 4", value);
}

TEST(ResultTest, UnwrapGivesTheValueOrReturnsTheError) {
  LogCapture log;
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(3).error(), Error::InvalidArgument);
  EXPECT_TRUE(log.messages().empty());
  EXPECT_EQ(quarter(6).error(), Error::InvalidArgument);
  EXPECT_EQ(log.text(), "6 is not a multiple of 4\n");
}

TEST(ResultDeathTest, TakingAValueThatIsNotThereEndsTheProgram) {
  Result<int> error(Error::NotFound);
  EXPECT_DEATH(*error, "failed Result");
}

TEST(ErrorMatchersTest, PrintTheErrorsName) {
  EXPECT_OK(half(2));
  EXPECT_FALSE(executorch::runtime::testing::is_ok(half(3)));
  EXPECT_STREQ(executorch::runtime::testing::is_ok(half(3)).message(), "Error::InvalidArgument");
  const int value = ASSERT_OK_AND_UNWRAP(half(4));
  EXPECT_EQ(value, 2);
}

}  // namespace
