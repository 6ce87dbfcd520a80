// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <gtest/gtest.h>

namespace executorch::test {

/// Returns whether the address is a multiple of `alignment`, which must not be zero.
inline bool is_aligned(const void* address, size_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

}  // namespace executorch::test

/// The address must be a multiple of the alignment.
#define EXPECT_ALIGNED(ptr, alignment)                                               \
  EXPECT_TRUE(::executorch::test::is_aligned((ptr), static_cast<size_t>(alignment))) \
      << "address " << static_cast<const void*>(ptr) << ", alignment " << (alignment)
