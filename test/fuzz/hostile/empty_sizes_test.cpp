// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Recorded calls of every kernel with one size 0 and another one a billion, and with numbers that
// are huge: a kernel that visits each row, window or step would run for minutes or without end,
// though there is nothing to compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/program/execute_program.h"
#include "fuzz/program/recorded_seeds.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

constexpr int32_t kMany = 1 << 30;

using oracle::Call;
using oracle::Value;

/// Calls `change` for every tensor and number of the values, and of their lists.
void visit(std::vector<Value>& values, const std::function<void(Value&)>& change) {
  for (Value& value : values) {
    change(value);
    visit(value.items, change);
  }
}

std::set<int32_t> sizes_of(Call call) {
  std::set<int32_t> sizes;
  visit(call.values,
        [&](Value& value) { sizes.insert(value.tensor.sizes.begin(), value.tensor.sizes.end()); });
  return sizes;
}

size_t rank_of(Call call) {
  size_t rank = 0;
  visit(call.values, [&](Value& value) { rank = std::max(rank, value.tensor.sizes.size()); });
  return rank;
}

/// The call with `empty` replaced by 0 and `many` by kMany; in numbers too, if they are sizes.
Call with_sizes(Call call, int32_t empty, int32_t many, bool with_numbers) {
  visit(call.values, [&](Value& value) {
    for (int32_t& size : value.tensor.sizes) {
      size = size == empty ? 0 : size == many ? kMany : size;
    }
    if (with_numbers && value.kind == kInt) {
      value.integer = value.integer == empty ? 0 : value.integer == many ? kMany : value.integer;
    }
  });
  return call;
}

/// The call with one dim of every tensor 0 and another one kMany.
Call with_dims(Call call, size_t empty, size_t many) {
  visit(call.values, [&](Value& value) {
    std::vector<int32_t>& sizes = value.tensor.sizes;
    if (sizes.size() > std::max(empty, many)) {
      sizes[empty] = 0;
      sizes[many] = kMany;
    }
  });
  return call;
}

std::vector<Call> calls_with_many_rows(const Call& call) {
  std::vector<Call> calls;
  const std::set<int32_t> sizes = sizes_of(call);
  for (const int32_t empty : sizes) {
    for (const int32_t many : sizes) {
      if (empty != many) {
        calls.push_back(with_sizes(call, empty, many, false));
        calls.push_back(with_sizes(call, empty, many, true));
      }
    }
  }
  const size_t rank = rank_of(call);
  for (size_t empty = 0; empty < rank; ++empty) {
    for (size_t many = 0; many < rank; ++many) {
      if (empty != many) calls.push_back(with_dims(call, empty, many));
    }
  }
  return calls;
}

void add_numbers(const Call& call, std::vector<Call>* calls) {
  Call counted = call;
  size_t numbers = 0;
  visit(counted.values, [&](Value& value) { numbers += value.kind == kInt; });
  for (size_t i = 0; i < numbers; ++i) {
    for (const int64_t number :
         {int64_t{kMany}, -int64_t{kMany}, int64_t{1} << 40, INT64_MAX / 4, INT64_MAX}) {
      Call& changed = calls->emplace_back(call);
      size_t at = 0;
      visit(changed.values, [&](Value& value) {
        if (value.kind == kInt && at++ == i) value.integer = number;
      });
    }
  }
  // A window of a billion taps meets few inputs; a padding of half of it has the same effect.
  for (size_t list = 0; list < call.values.size(); ++list) {
    if (call.values[list].kind != kIntList) continue;
    for (size_t other = list + 1; other < call.values.size(); ++other) {
      if (call.values[other].kind != kIntList) continue;
      const size_t items =
          std::min(call.values[list].items.size(), call.values[other].items.size());
      for (size_t i = 0; i < items; ++i) {
        Call& changed = calls->emplace_back(call);
        changed.values[list].items[i].integer = kMany;
        changed.values[other].items[i].integer = kMany / 2;
      }
    }
  }
}

std::vector<Call> calls_with_huge_numbers(const Call& call) {
  std::vector<Call> calls;
  add_numbers(call, &calls);
  for (const int32_t empty : sizes_of(call)) {
    add_numbers(with_sizes(call, empty, -1, false), &calls);
    add_numbers(with_sizes(call, empty, -1, true), &calls);
  }
  return calls;
}

fuzz::Outcome execute(const Call& call, uint64_t script) {
  TestProgram program;
  program.constant_buffer.emplace_back();
  TestPlan& plan = program.plans.emplace_back();
  plan.buffer_sizes = {0};
  plan.chains.emplace_back();
  fuzz::Random random(script);
  fuzz::ProgramEditor editor(program, plan, random);
  fuzz::add_recorded_call(editor, call);
  const ProgramFile file(program);
  const std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  const LogCapture log;
  return fuzz::execute_program({bytes.data(), bytes.size()}, script);
}

/// Executes the variants of every recorded call; returns the number of executions without error.
size_t execute_all(std::vector<Call> (*vary)(const Call& call)) {
  size_t executed = 0;
  for (const Call& call : fuzz::recorded_calls()) {
    for (const Call& varied : vary(call)) executed += execute(varied, 0).methods_executed;
  }
  return executed;
}

TEST(EmptySizes, OfEveryKernelsRecordedCallsAreNotVisitedRowByRow) {
  EXPECT_GT(execute_all(calls_with_many_rows), 1000u);
}

TEST(EmptySizes, OfEveryKernelsRecordedCallsWithHugeNumbersAreNotVisitedStepByStep) {
  EXPECT_GT(execute_all(calls_with_huge_numbers), 1000u);
}

}  // namespace
}  // namespace executorch::testing
