// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs: loaded, and executed several times. Whatever the verifier accepts must stay inside of
// its memory.
#include <vector>

#include "fuzz/engine/features.h"
#include "fuzz/program/execute_program.h"
#include "fuzz/program/mutate_program.h"
#include "fuzz/program/program_values.h"

using namespace executorch::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  const ProgramInput input = split_input({data, size});
  // A block of exactly these bytes.
  const std::vector<uint8_t> file(input.file.begin(), input.file.end());
  const Outcome outcome = execute_program({file.data(), file.size()}, input.script);
  note_feature(static_cast<uint64_t>(outcome.load) * 64 + outcome.methods_loaded * 8 +
               outcome.methods_executed);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return mutate_input(data, size, max_size, seed);
}
