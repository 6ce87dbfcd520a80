// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/platform/log.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/log_capture.h"

namespace {

TEST(LogTest, AMessageCarriesLevelFileAndText) {
  LogCapture log;
  ET_LOG(Error, "size %d of %s", 3, "x");
  ASSERT_EQ(log.messages().size(), 1u);
  EXPECT_EQ(log.messages()[0].level, kError);
  EXPECT_EQ(log.messages()[0].file, "log_test.cpp");
  EXPECT_EQ(log.messages()[0].line, static_cast<size_t>(__LINE__ - 4));
  EXPECT_EQ(log.messages()[0].text, "size 3 of x");
}

TEST(LogTest, MessagesBelowTheMinimumLevelAreNotEvaluated) {
  LogCapture log;
  int evaluated = 0;
  ET_LOG(Debug, "%d", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  EXPECT_TRUE(log.messages().empty());
}

TEST(LogTest, ALongMessageIsTruncatedAndMarked) {
  LogCapture log;
  const std::string text(1000, 'x');
  ET_LOG(Info, "%s", text.c_str());
  ASSERT_EQ(log.messages().size(), 1u);
  EXPECT_EQ(log.messages()[0].text, std::string(508, 'x') + "...");
}

TEST(LogTest, AMessageThatJustFitsIsWhole) {
  LogCapture log;
  const std::string text(511, 'x');
  ET_LOG(Info, "%s", text.c_str());
  EXPECT_EQ(log.messages()[0].text, text);
}

}  // namespace
