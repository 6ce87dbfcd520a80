// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/evalue_util/print_evalue.h>

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include <executorch/extension/tensor/tensor.h>

namespace {

using executorch::aten::ScalarType;
using executorch::extension::evalue_edge_items;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::EValue;

std::string text(const EValue& value, long edge_items = 0) {
  std::ostringstream stream;
  stream << evalue_edge_items(edge_items) << value;
  return stream.str();
}

TEST(PrintEValueTest, ShowsPlainValues) {
  EXPECT_EQ(text(EValue()), "None");
  EXPECT_EQ(text(EValue(int64_t{-3})), "-3");
  EXPECT_EQ(text(EValue(2.5)), "2.5");
  EXPECT_EQ(text(EValue(true)), "true");
}

TEST(PrintEValueTest, ShowsTensorsOfEveryKindOfNumber) {
  EXPECT_EQ(text(*make_tensor_ptr({2, 2}, std::vector<float>{1, -2.5, INFINITY, 0})),
            "Float [2, 2] [1, -2.5, inf, 0]");
  EXPECT_EQ(text(*make_tensor_ptr({2}, std::vector<int8_t>{65, -1})), "Char [2] [65, -1]");
  EXPECT_EQ(text(*make_tensor_ptr({1}, std::vector<double>{2}, {}, {}, ScalarType::Half)),
            "Half [1] [2]");
  EXPECT_EQ(text(*executorch::extension::empty({0, 3})), "Float [0, 3] []");
  EXPECT_EQ(text(*executorch::extension::scalar_tensor(7)), "Float [] [7]");
}

TEST(PrintEValueTest, ShowsTheEdgesOfWhatIsLong) {
  const auto tensor = make_tensor_ptr({5}, std::vector<int32_t>{1, 2, 3, 4, 5});
  EXPECT_EQ(text(*tensor, 2), "Int [5] [1, 2, ..., 4, 5]");
  EXPECT_EQ(text(*tensor, 1), "Int [5] [1, ..., 5]");
  EXPECT_EQ(text(*tensor, 3), "Int [5] [1, 2, 3, 4, 5]");
  EXPECT_EQ(text(*tensor, -1), "Int [5] [1, 2, 3, 4, 5]");
}

}  // namespace
