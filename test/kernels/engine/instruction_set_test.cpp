// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <atomic>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

TEST(InstructionSet, NamesAreReadAsTheyAreWritten) {
  for (InstructionSet set : instruction_sets()) {
    InstructionSet read = InstructionSet::Scalar;
    ASSERT_TRUE(instruction_set_named(name_of(set), read));
    EXPECT_EQ(set, read);
  }
  InstructionSet unchanged = InstructionSet::Scalar;
  EXPECT_FALSE(instruction_set_named("avx1024", unchanged));
  EXPECT_FALSE(instruction_set_named("", unchanged));
  EXPECT_EQ(InstructionSet::Scalar, unchanged);
}

TEST(InstructionSet, ACapLowersTheSetInEffectAndNeverRaisesIt) {
  const InstructionSet before = instruction_set();
  for (InstructionSet set : instruction_sets()) {
    set_max_instruction_set(set);
    EXPECT_EQ(set, instruction_set());
  }
  set_max_instruction_set(InstructionSet::Amx);
  EXPECT_EQ(detected_instruction_set(), instruction_set());
  set_max_instruction_set(before);
}

TEST(InstructionSet, ACapThatThisProcessorLacksGivesTheHighestSetBelowIt) {
  const InstructionSet before = instruction_set();
  InstructionSet below = InstructionSet::Scalar;
  for (auto set = size_t(InstructionSet::Scalar); set <= size_t(InstructionSet::Amx); ++set) {
    if (has_instruction_set(InstructionSet(set))) below = InstructionSet(set);
    set_max_instruction_set(InstructionSet(set));
    EXPECT_EQ(below, instruction_set()) << name_of(InstructionSet(set));
  }
  EXPECT_EQ(detected_instruction_set(), below);
  set_max_instruction_set(before);
}

TEST(InstructionSet, ACapOfAnotherArchitectureGivesTheSetBelowIt) {
  const InstructionSet before = instruction_set();
#if defined(__x86_64__)
  set_max_instruction_set(InstructionSet::Neon);
  EXPECT_EQ(InstructionSet::Sse2, instruction_set());
#elif defined(__ARM_NEON)
  set_max_instruction_set(InstructionSet::Sse2);
  EXPECT_EQ(InstructionSet::Scalar, instruction_set());
#endif
  set_max_instruction_set(before);
}

TEST(Threads, EveryItemIsDoneOnceByAWorkerBelowTheCount) {
  ManyThreads threads(3);
  std::vector<int> done(100), busy(3);
  std::atomic<bool> is_wrong{false};
  for_each_item(threads, done.size(), [&](size_t item, size_t worker) {
    if (worker >= 3 || busy[worker]++ != 0) is_wrong = true;
    ++done[item];
    --busy[worker];
  });
  EXPECT_FALSE(is_wrong);
  for (int count : done) EXPECT_EQ(1, count);
}

}  // namespace
