// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <gtest/gtest.h>

/// Skips the test if the condition holds; `ET_SKIP_IF(condition, "reason") << more;` works too.
#define ET_SKIP_IF(condition, reason) \
  if (!(condition)) {                 \
  } else                              \
    GTEST_SKIP() << reason
