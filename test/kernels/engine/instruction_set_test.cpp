// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <atomic>
#include <vector>

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

/// Runs one task after the other, the last one first.
class OneAfterAnother final : public Threads {
 public:
  explicit OneAfterAnother(size_t count) : count_(count) {}
  size_t count() const override { return count_; }
  void run(size_t tasks, FunctionRef<void(size_t)> task) override {
    while (tasks > 0) task(--tasks);
  }

 private:
  size_t count_;
};

TEST(Threads, TheWorkerThatRunsFirstDoesTheItemsOfAll) {
  for (const size_t workers : {2u, 3u, 400u}) {
    OneAfterAnother threads(workers);
    for (const size_t items : {0u, 1u, 2u, 3u, 7u, 500u}) {
      std::vector<int> done(items);
      size_t largest = 0, smallest = workers;
      for_each_item(threads, items, [&](size_t item, size_t worker) {
        ++done[item];
        largest = std::max(largest, worker);
        smallest = std::min(smallest, worker);
      });
      for (int count : done) EXPECT_EQ(1, count);
      EXPECT_LT(largest, std::max(std::min(workers, items), size_t{1}));
      EXPECT_TRUE(items == 0 || smallest == largest) << workers << " workers, " << items;
    }
  }
}

}  // namespace
