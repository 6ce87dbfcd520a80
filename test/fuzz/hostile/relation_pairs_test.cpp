// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs that load, changed in one relation and in a second one: each is refused or stays inside
// its memory. One change of kStride is tried, the same in every run; others with
//   fuzz_hostile_test --gtest_filter='RelationPairs.*' --gtest_random_seed=N
// The counts of each relation are properties of the test (--gtest_output=json).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fuzz/hostile/hostile_programs.h"
#include "fuzz/program/execute_program.h"
#include "fuzz/program/mutate_program.h"
#include "fuzz/program/recorded_seeds.h"
#include "fuzz/program/relation_changes.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

constexpr size_t kStride = 97;

struct Counts {
  size_t refused = 0;
  size_t loaded = 0;
  size_t executed = 0;
};

class Pairs final {
 public:
  explicit Pairs(size_t seed) : phase_(seed), random_(seed + 1) {}

  void run(const TestProgram& program) {
    const std::vector<RelationChange> changes = relation_changes(program);
    // Rows begin at different changes, so that all relations are met.
    for (size_t i = phase_++ % kStride; i < changes.size(); i += kStride) {
      TestProgram changed = program;
      apply(changes[i], changed);
      execute(changes[i].relation, changed);
      const std::vector<RelationChange> more = relation_changes(changed);
      const RelationChange& second = more[random_.below(more.size())];
      apply(second, changed);
      execute(changes[i].relation, changed);
      fuzz::separate_planned(changed);
      execute(changes[i].relation, changed);
    }
  }

  const std::map<std::string, Counts>& counts() const { return counts_; }

 private:
  void apply(const RelationChange& change, TestProgram& program) {
    fuzz::ProgramEditor editor(program, program.plans[0], random_);
    change.apply(editor);
  }

  void execute(const std::string& relation, const TestProgram& program) {
    const ProgramFile file(program);
    const std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
    const LogCapture log;
    const fuzz::Outcome outcome = fuzz::execute_program(
        {bytes.data(), bytes.size()}, random_.next() | 1, fuzz::OtherThreads::None);
    Counts& counts = counts_[relation];
    (outcome.methods_loaded == 0 ? counts.refused : counts.loaded) += 1;
    counts.executed += outcome.methods_executed > 0 ? 1 : 0;
  }

  size_t phase_;
  fuzz::Random random_;
  std::map<std::string, Counts> counts_;
};

/// Records the counts, and expects that both happened often enough to mean something.
void report(const Pairs& pairs) {
  size_t refused = 0, executed = 0;
  for (const auto& [relation, counts] : pairs.counts()) {
    ::testing::Test::RecordProperty(relation, std::to_string(counts.refused) + " refused, " +
                                                  std::to_string(counts.loaded) + " loaded, " +
                                                  std::to_string(counts.executed) + " executed");
    refused += counts.refused;
    executed += counts.executed;
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(executed, 100u);
}

/// The option's number, 0 without the option. UnitTest::random_seed() would be the time then.
size_t seed() { return static_cast<size_t>(GTEST_FLAG_GET(random_seed)); }

TEST(RelationPairs, OfHostileProgramsStayInsideTheirMemory) {
  Pairs pairs(seed());
  for (const auto& rows :
       {hostile_relations(), hostile_files(), hostile_growth(), hostile_calls(),
        hostile_library_calls(), hostile_delegates(), hostile_flow(), hostile_sharing()}) {
    for (const HostileProgram& row : rows) {
      if (row.refused.empty()) pairs.run(row.make());
    }
  }
  report(pairs);
}

TEST(RelationPairs, OfEveryKernelsRecordedCallsStayInsideTheirMemory) {
  Pairs pairs(seed());
  fuzz::Random random(seed());
  for (const oracle::Call& call : fuzz::recorded_calls()) {
    TestProgram program;
    program.constant_buffer.emplace_back();
    TestPlan& plan = program.plans.emplace_back();
    plan.buffer_sizes = {0};
    plan.chains.emplace_back();
    fuzz::ProgramEditor editor(program, plan, random);
    fuzz::add_recorded_call(editor, call);
    // Two calls, between which places, arguments and views can be shared.
    fuzz::add_recorded_call(editor, call);
    pairs.run(program);
  }
  report(pairs);
}

}  // namespace
}  // namespace executorch::testing
