// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Bundles (.bpte): opened, all test cases read, the program loaded and run on every case.
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/runtime/executor/program.h>

#include "fuzz/engine/features.h"
#include "fuzz/given/method_memory.h"
#include "fuzz/given/piece_loader.h"

using namespace executorch::fuzz;
using executorch::bundled_program::Bundle;
using executorch::bundled_program::CaseValue;
using executorch::bundled_program::TestCase;
using executorch::bundled_program::TestSuite;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Span;

namespace {

void read(const CaseValue& value) {
  if (value.layout.has_value()) {
    const std::vector<uint8_t> copy(value.data, value.data + value.layout->nbytes());
    note_feature(copy.size());
  }
  note_feature(static_cast<uint64_t>(value.tag));
}

void run(const Program& program, const TestSuite& suite, const TestCase& test_case) {
  const auto meta = program.method_meta(suite.method_name());
  if (!meta.ok() || !is_small(*meta)) {
    return;
  }
  MethodMemory memory(*meta);
  auto method = program.load_method(suite.method_name(), memory.manager.get());
  if (!method.ok()) {
    return;
  }
  const auto inputs = executorch::bundled_program::set_inputs(*method, test_case);
  note_feature(100 + static_cast<uint64_t>(inputs.error()));
  for (size_t step = 0; inputs.ok() && step < 200; ++step) {
    if (method->step() != executorch::runtime::Error::Ok) {
      break;
    }
  }
  if (inputs.ok()) {
    const auto error_of_outputs = executorch::bundled_program::output_error(*method, test_case, {});
    note_feature(200 + static_cast<uint64_t>(error_of_outputs.error()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  // Bundles are opened in place, at a multiple of 16.
  void* block = nullptr;
  if (size == 0 || posix_memalign(&block, 16, size) != 0) {
    return 0;
  }
  memcpy(block, data, size);
  const std::unique_ptr<void, void (*)(void*)> owner(block, &free);
  const Span<const uint8_t> file(static_cast<const uint8_t*>(block), size);
  (void)Bundle::is_bundle(file);
  const auto bundle = Bundle::open(file);
  note_feature(300 + static_cast<uint64_t>(bundle.error()));
  if (!bundle.ok()) {
    return 0;
  }
  PieceLoader loader(bundle->program());
  const auto program = Program::load(&loader);
  (void)bundle->suite_of("a method that no bundle has");
  for (size_t s = 0; s < bundle->suites_size(); ++s) {
    const TestSuite suite = bundle->suite(s);
    (void)suite.test_case(suite.size());
    for (size_t c = 0; c < suite.size(); ++c) {
      const TestCase test_case = *suite.test_case(c);
      for (size_t i = 0; i < test_case.inputs_size(); ++i) {
        read(test_case.input(i));
      }
      for (size_t i = 0; i < test_case.expected_size(); ++i) {
        read(test_case.expected(i));
      }
      if (program.ok()) {
        run(*program, suite, test_case);
      }
    }
  }
  return 0;
}
