// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <gtest/gtest.h>

#include <executorch/runtime/platform/log.h>

/// The statement must end the program, with a message that `matcher` matches. A build without log
/// messages has none to match.
#if ET_LOG_ENABLED
#define ET_EXPECT_DEATH(statement, matcher) EXPECT_DEATH_IF_SUPPORTED(statement, matcher)
#else
#define ET_EXPECT_DEATH(statement, matcher) EXPECT_DEATH_IF_SUPPORTED(statement, "")
#endif
