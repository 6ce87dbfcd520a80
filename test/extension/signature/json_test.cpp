// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/json.h>

#include <gtest/gtest.h>

#include <executorch/runtime/platform/runtime.h>

#include <string>

#include "../../runtime/log_capture.h"

namespace executorch::extension::signature {
namespace {

using runtime::Error;
using Kind = JsonValue::Kind;

class Json : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
  const LogCapture log_;
};

TEST_F(Json, ReadsEveryKindOfValue) {
  const auto value = parse_json(
      " {\"a\": [1, -2.5e+3, true, false, null, \"x\"], \"b\" : {}, \"c\":[ ], \"\": 0} ");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->kind, Kind::Object);
  const JsonValue* const a = value->find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_EQ(a->items.size(), 6u);
  const Kind kinds[] = {Kind::Number,  Kind::Number, Kind::Boolean,
                        Kind::Boolean, Kind::Null,   Kind::String};
  const char* const texts[] = {"1", "-2.5e+3", "true", "false", "null", "x"};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(a->items[i].kind, kinds[i]) << i;
    EXPECT_EQ(a->items[i].text, texts[i]);
  }
  EXPECT_EQ(value->find("b")->kind, Kind::Object);
  EXPECT_EQ(value->find("c")->items.size(), 0u);
  EXPECT_EQ(value->find("d"), nullptr);
  EXPECT_EQ(value->find_string("b"), nullptr) << "it is not a string";
}

TEST_F(Json, DecodesEscapes) {
  const auto value =
      parse_json(R"(["\"\\\/\b\f\n\r\t", "\u0041\u00e4\u20AC\ud83d\ude00", "\u0000"])");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->items[0].text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(value->items[1].text, "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(value->items[2].text, std::string(1, '\0'));
}

TEST_F(Json, RefusesInvalidDocuments) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{1:1}",
                           "{\"a\":1 \"b\":2}",
                           "\"",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\n\"",
                           "tru",
                           "nul",
                           "01",
                           "-",
                           "1.",
                           "1e",
                           ".5",
                           "+1",
                           "1 1",
                           "{} {}",
                           "NaN",
                           "'a'",
                           "{\"a\":1,\"a\":2}"}) {
    EXPECT_EQ(parse_json(text).error(), Error::InvalidExternalData) << text;
  }
}

TEST_F(Json, ReadsObjectsOfManyNamesAndFindsTwoThatAreEqual) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "\"a name of an item " + std::to_string(i) + "\":0,";
  EXPECT_EQ(parse_json(text + "\"last\":0}")->names.size(), 50'001u);
  EXPECT_EQ(parse_json(text + "\"a name of an item 7\":0}").error(), Error::InvalidExternalData);
}

TEST_F(Json, RefusesMoreValuesThanADocumentNeeds) {
  std::string text = "[0";
  while (text.size() < 1500) text += ",0";
  EXPECT_TRUE(parse_json(text + "]").ok());
  while (text.size() < 1'000'000) text += ",0";
  EXPECT_EQ(parse_json(text + "]").error(), Error::InvalidExternalData);
}

TEST_F(Json, RefusesDeepNesting) {
  EXPECT_TRUE(parse_json(std::string(31, '[') + "1" + std::string(31, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(32, '[') + "1" + std::string(32, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(1000000, '[')).ok());
}

}  // namespace
}  // namespace executorch::extension::signature
