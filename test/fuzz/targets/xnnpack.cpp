// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuzzes programs with XNNPACK delegates: their payloads, and the programs' use of their arguments.
#include <string.h>

#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

#include "fuzz/engine/features.h"
#include "fuzz/program/execute_program.h"
#include "fuzz/program/mutate_program.h"
#include "fuzz/program/program_values.h"
#include "fuzz/xnnpack/mutate_payload.h"

using namespace executorch::fuzz;
using executorch::testing::TestDelegate;
using executorch::testing::TestPlan;
using executorch::testing::TestProgram;

namespace {

/// Returns the bytes of a delegate's payload inside `program`.
executorch::runtime::Span<uint8_t> payload_of(TestProgram& program, const TestDelegate& delegate) {
  if (delegate.location == fb::DataLocation::INLINE &&
      delegate.index < program.inline_data.size()) {
    std::string& data = program.inline_data[delegate.index];
    return {reinterpret_cast<uint8_t*>(data.data()), data.size()};
  }
  if (delegate.location == fb::DataLocation::SEGMENT && delegate.index < program.segments.size()) {
    const auto& [offset, size] = program.segments[delegate.index];
    std::string& data = program.segment_data;
    if (offset <= data.size() && size <= data.size() - offset) {
      return {reinterpret_cast<uint8_t*>(data.data()) + offset, static_cast<size_t>(size)};
    }
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  execute_input({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  Random random(seed);
  const ProgramInput input = split_input({data, size});
  auto program = read_program(input.file);
  if (!program.has_value()) {
    return size;
  }
  if (!random.one_in(4)) {
    for (const TestPlan& plan : program->plans) {
      for (const TestDelegate& delegate : plan.delegates) {
        const auto payload = payload_of(*program, delegate);
        if (random.one_in(2)) {
          mutate_payload(payload.data(), payload.size(), random);
        }
      }
    }
  } else {
    mutate(*program, random);
  }
  separate_planned(*program);
  const std::vector<uint8_t> bytes = join_input(*program, random.next() | 1);
  if (bytes.size() > max_size) {
    return size;
  }
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
