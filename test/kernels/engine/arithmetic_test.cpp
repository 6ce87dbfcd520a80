// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/arithmetic.h>

#include <gtest/gtest.h>

namespace executorch::kernels::engine {
namespace {

int64_t first_by_search(int64_t step, int64_t rest, int64_t modulus) {
  for (int64_t n = 0; n < modulus; ++n) {
    if ((n * step - rest) % modulus == 0) return n;
  }
  return -1;
}

TEST(Arithmetic, FirstMultipleIsTheOneThatASearchFinds) {
  for (int64_t modulus = 1; modulus <= 13; ++modulus) {
    for (int64_t step = 0; step <= 30; ++step) {
      for (int64_t rest = 0; rest <= 30; ++rest) {
        ASSERT_EQ(first_multiple(step, rest, modulus), first_by_search(step, rest, modulus))
            << step << " " << rest << " " << modulus;
      }
    }
  }
}

TEST(Arithmetic, FirstMultipleTakesTheLargestModulus) {
  constexpr int64_t kLargest = int64_t{1} << 31;
  EXPECT_EQ(first_multiple(kLargest - 1, 1, kLargest), kLargest - 1);
  EXPECT_EQ(first_multiple(kLargest - 1, kLargest - 1, kLargest), 1);
  EXPECT_EQ(first_multiple(kLargest / 2, 1, kLargest), -1);
  EXPECT_EQ(first_multiple(3, kLargest - 2, kLargest) * 3 % kLargest, kLargest - 2);
}

}  // namespace
}  // namespace executorch::kernels::engine
