// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The command line of example_runner.
#pragma once

#include <cstddef>
#include <string>

struct Flags {
  std::string bundled_program_path = "model_bundled.bpte";
  std::size_t testset_idx = 0;
  std::string etdump_path = "etdump.etdp";
  bool output_verification = false;
  bool print_output = false;
  bool dump_outputs = false;
  bool dump_intermediate_outputs = false;
  std::string debug_output_path = "debug_output.bin";
  std::size_t debug_buffer_size = 262144;
};

/// Reads `--name=value`, `--name value` and, for switches, `--name` and `--noname`. Reports an
/// error on stderr and returns false for any other argument.
bool parse_flags(int argc, char** argv, Flags* flags);
