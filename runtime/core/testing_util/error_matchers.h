// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Errors and Results in googletest: EXPECT_OK(f()), ASSERT_OK_AND_UNWRAP(g()); where googlemock is
// installed, also EXPECT_THAT(f(), IsOk()), IsError(Error::NotFound) and IsOkAndHolds(Eq(3)).
#pragma once

#include <gtest/gtest.h>
#if __has_include(<gmock/gmock.h>)
#include <gmock/gmock.h>
#define ET_INTERNAL_HAS_GMOCK 1
#endif

#include <ostream>
#include <string>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

/// The value of a Result; ends the test if there is none. In functions that return void.
#define ASSERT_OK_AND_UNWRAP(result)                                                      \
  __extension__({                                                                         \
    auto&& et_result_ = (result);                                                         \
    ASSERT_TRUE(et_result_.ok()) << ::executorch::runtime::to_string(et_result_.error()); \
    std::move(*et_result_);                                                               \
  })

#define EXPECT_OK(expression) EXPECT_TRUE(::executorch::runtime::testing::is_ok(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(::executorch::runtime::testing::is_ok(expression))

namespace executorch::runtime {

/// How googletest prints an Error.
inline void PrintTo(Error error, std::ostream* os) { *os << to_string(error); }

namespace testing {
namespace internal {

inline Error error_of(Error error) { return error; }
template <typename T>
Error error_of(const Result<T>& result) {
  return result.error();
}

}  // namespace internal

/// Success for Error::Ok and a Result with a value; a failure prints the error's name.
template <typename T>
::testing::AssertionResult is_ok(const T& error_or_result) {
  const Error error = internal::error_of(error_or_result);
  return error == Error::Ok ? ::testing::AssertionSuccess()
                            : ::testing::AssertionFailure() << to_string(error);
}

#if ET_INTERNAL_HAS_GMOCK
MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const Error error = internal::error_of(arg);
  *result_listener << "which is " << to_string(error);
  return error == Error::Ok;
}

MATCHER_P(IsError, expected, std::string(negation ? "is not " : "is ") + to_string(expected)) {
  const Error error = internal::error_of(arg);
  *result_listener << "which is " << to_string(error);
  return error == expected;
}

/// Like IsError(), also with a matcher: ErrorIs(AnyOf(Error::NotFound, Error::InvalidState)).
MATCHER_P(ErrorIs, error_matcher,
          (negation ? "does not have an error that " : "has an error that ") +
              ::testing::DescribeMatcher<Error>(error_matcher)) {
  const Error error = internal::error_of(arg);
  *result_listener << "which is " << to_string(error);
  return ::testing::ExplainMatchResult(error_matcher, error, result_listener);
}

MATCHER_P(IsOkAndHolds, value_matcher,
          negation ? "isn't OK or has a value that does not match"
                   : "is OK and has a value that matches") {
  if (!arg.ok()) {
    *result_listener << "which is " << to_string(arg.error());
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}
#endif

}  // namespace testing
}  // namespace executorch::runtime
