// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <executorch/extension/pytree/pytree.h>

namespace {

using executorch::extension::pytree::ContainerHandle;
using executorch::extension::pytree::from_str;
using executorch::extension::pytree::Key;
using executorch::extension::pytree::Kind;
using executorch::extension::pytree::to_str;
using executorch::extension::pytree::unflatten;

TEST(PytreeTest, AStructureIsFilledWithLeaves) {
  int leaves[] = {11, 12, 13};
  const auto tree = unflatten("D2#2#1('key0':L2#1#1($,$),7:T1#1($))", leaves);
  ASSERT_TRUE(tree.isDict());
  EXPECT_TRUE(tree.contains("key0"));
  EXPECT_FALSE(tree.contains("key1"));
  EXPECT_EQ(tree.key(1), Key(7));
  EXPECT_TRUE(tree.at("key0").isList());
  EXPECT_EQ(tree.at("key0")[1], 12);
  EXPECT_TRUE(tree[1].isTuple());
  EXPECT_EQ(tree.at(7)[0].leaf(), 13);
  EXPECT_EQ(tree.leaves_num(), 3u);
  EXPECT_THROW(tree.at("key1"), std::runtime_error);
  EXPECT_THROW(tree[2], std::runtime_error);
}

TEST(PytreeTest, ATreeBecomesItsLeavesAndItsStructure) {
  int leaves[] = {1, 2, 3};
  ContainerHandle<int> inner(Kind::NamedTuple, 2);
  inner[0] = &leaves[1];
  inner[1] = &leaves[2];
  ContainerHandle<int> tree(Kind::Dict, 2);
  tree[0] = &leaves[0];
  tree[1] = std::move(inner);
  tree.key(0) = 0;
  tree.key(1) = Key("b");
  const auto flat = flatten(tree);
  ASSERT_EQ(flat.first.size(), 3u);
  EXPECT_EQ(*flat.first[2], 3);
  EXPECT_THROW(flat.first.at(3), std::out_of_range);
  EXPECT_EQ(to_str(*flat.second), "D2#1#2(0:$,'b':N2#1#1($,$))");
}

TEST(PytreeTest, EveryTextIsReadAndWrittenBack) {
  for (const std::string text : {"$", "L0()", "T1#1($)", "D1#1('':$)", "L2#0#1(T0(),$)"}) {
    EXPECT_EQ(to_str(from_str(text)), text);
    EXPECT_TRUE(from_str(text) == torch::executor::pytree::from_str(text));
  }
  EXPECT_TRUE(from_str("L1#1($)") != from_str("T1#1($)"));
}

TEST(PytreeTest, WrongTextsAreRefused) {
  for (const std::string text :
       {"", "L", "L1", "L1#1", "L1#1($", "L1#1($,$)", "L2#1#1($)", "L1#2($)", "D1#1('a$)",
        "D1#1(:$)", "X", "$$", "L99999999999999999999()", "L4000000000()"}) {
    EXPECT_THROW(from_str(text), std::out_of_range) << text;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "L1#1(";
  }
  EXPECT_THROW(from_str(deep), std::out_of_range);
}

}  // namespace
