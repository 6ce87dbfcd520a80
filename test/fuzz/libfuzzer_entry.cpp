// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// For libFuzzer: configure with clang and -DEXECUTORCH_BUILD_FUZZER=ON, then run
// test/fuzz/program_fuzzer test/data.
#include "execute_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::execute_program({data, size});
  return 0;
}
