// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs a test case of the first method of a bundled program, records the run's events, and compares
// the outputs.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/module/bundled_module.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "flags.h"

using executorch::etdump::ETDumpGen;
using executorch::extension::BundledModule;
using executorch::runtime::Error;
using executorch::runtime::EventTracerDebugLogLevel;

namespace {

constexpr double kRelativeTolerance = 1e-3, kAbsoluteTolerance = 1e-5;

int fail(const char* what, Error error) {
  std::fprintf(stderr, "example_runner: %s: %s\n", what, executorch::runtime::to_string(error));
  return 1;
}

bool write_file(const std::string& path, const void* bytes, std::size_t size) {
  FILE* const file = std::fopen(path.c_str(), "wb");
  const bool is_written = file != nullptr && std::fwrite(bytes, 1, size, file) == size;
  const bool is_closed = file != nullptr && std::fclose(file) == 0;
  if (!is_written || !is_closed) {
    std::fprintf(stderr, "example_runner: cannot write '%s'\n", path.c_str());
  }
  return is_written && is_closed;
}

/// Configures which values the tracer records into `buffer`.
Error record_values(const Flags& flags, std::vector<uint8_t>* buffer, ETDumpGen* tracer) {
  if (!flags.dump_outputs && !flags.dump_intermediate_outputs) {
    return Error::Ok;
  }
  buffer->resize(flags.debug_buffer_size);
  tracer->set_event_tracer_debug_level(flags.dump_intermediate_outputs
                                           ? EventTracerDebugLogLevel::kIntermediateOutputs
                                           : EventTracerDebugLogLevel::kProgramOutputs);
  return tracer->set_debug_buffer({buffer->data(), buffer->size()}).error();
}

bool write_records(const Flags& flags, const std::vector<uint8_t>& buffer, ETDumpGen* tracer) {
  const auto record = tracer->get_etdump_data();
  const std::unique_ptr<void, void (*)(void*)> bytes(record.buf, std::free);
  if (bytes != nullptr && record.size > 0 &&
      !write_file(flags.etdump_path, bytes.get(), record.size)) {
    return false;
  }
  return buffer.empty() || write_file(flags.debug_output_path, buffer.data(), buffer.size());
}

int run(const Flags& flags) {
  std::vector<uint8_t> debug_buffer;  // outlives the module, whose tracer writes to it
  auto owned = std::make_unique<ETDumpGen>();
  ETDumpGen* const tracer = owned.get();
  const Error recording = record_values(flags, &debug_buffer, tracer);
  if (recording != Error::Ok) {
    return fail("--debug_buffer_size", recording);
  }
  auto module =
      BundledModule::from_file(flags.bundled_program_path, nullptr, nullptr, std::move(owned));
  if (!module.ok()) {
    return fail(flags.bundled_program_path.c_str(), module.error());
  }
  const auto names = (*module)->method_names();
  if (!names.ok() || names->empty()) {
    return fail("no method", names.error());
  }
  const std::string method =
      names->count("forward") > 0 ? "forward" : *std::min_element(names->begin(), names->end());
  const auto outputs = (*module)->execute(method, flags.testset_idx);
  if (!outputs.ok()) {
    return fail(method.c_str(), outputs.error());
  }
  std::printf("Model executed successfully.\n");
  if (flags.print_output) {
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      std::cout << "Output " << i << ": " << (*outputs)[i] << std::endl;
    }
  }
  if (!write_records(flags, debug_buffer, tracer)) {
    return 1;
  }
  if (flags.output_verification) {
    const Error verified = (*module)->verify_method_outputs(method, flags.testset_idx,
                                                            kRelativeTolerance, kAbsoluteTolerance);
    if (verified != Error::Ok) {
      return fail("the outputs differ from the expected ones", verified);
    }
    std::printf("Model verified successfully.\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Flags flags;
  return parse_flags(argc, argv, &flags) ? run(flags) : 2;
}
