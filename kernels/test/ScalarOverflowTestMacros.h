// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tests that a kernel refuses numbers that its dtype cannot hold.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

/// Defines tests of the fixture `suite`, whose member template
/// `expect_bad_scalar_value_dies<ScalarType>(Scalar)` must expect the failure.
#define GENERATE_SCALAR_OVERFLOW_TESTS(suite)                                       \
  ET_INTERNAL_OVERFLOW_TEST(suite, ByteTensorTooLargeScalarDies, Byte, 256)         \
  ET_INTERNAL_OVERFLOW_TEST(suite, CharTensorTooSmallScalarDies, Char, -129)        \
  ET_INTERNAL_OVERFLOW_TEST(suite, ShortTensorTooLargeScalarDies, Short, 32768)     \
  ET_INTERNAL_OVERFLOW_TEST(suite, FloatTensorTooSmallScalarDies, Float, -3.41e+38) \
  ET_INTERNAL_OVERFLOW_TEST(suite, FloatTensorTooLargeScalarDies, Float, 3.41e+38)

#define ET_INTERNAL_OVERFLOW_TEST(suite, name, dtype, value)                                   \
  TEST_F(suite, name) {                                                                        \
    this->template expect_bad_scalar_value_dies<::executorch::aten::ScalarType::dtype>(value); \
  }
