// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs: loaded, and executed several times. Whatever the verifier accepts must stay inside of
// its memory.
#include "fuzz/engine/features.h"
#include "fuzz/program/execute_program.h"
#include "fuzz/program/mutate_program.h"

using namespace executorch::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  execute_input({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return mutate_input(data, size, max_size, seed);
}
