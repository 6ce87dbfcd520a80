// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The command line of executor_runner.
#pragma once

#include <stddef.h>

#include <string>
#include <vector>

namespace executorch::extension::executor_runner {

/// Short: the first and last values of each output.
enum class PrintOutput { Short, All, Shape, None };

struct Options {
  std::string model_path;
  /// The file is a bundled program, whose test cases are run.
  bool bundled = false;
  /// Within which a case passes: atol + rtol * |expected|.
  double rtol = 1e-5;
  double atol = 1e-8;
  /// .ptd files with weights of the program.
  std::vector<std::string> data_paths;
  /// Empty: "forward", or the only method.
  std::string method;
  /// Empty: ones.
  std::vector<std::string> inputs;
  size_t num_executions = 1;
  /// 0: as many as there are physical cores to use.
  size_t threads = 0;
  /// A file for weights that a backend has packed; empty: none.
  std::string packed_cache;
  PrintOutput print_output = PrintOutput::Short;
  /// Empty: outputs are not written.
  std::string output_file;
  /// Where the events of the run are written; empty: none are recorded.
  std::string etdump_path;
  /// Where the tensors that it computes are written; empty: they are not recorded.
  std::string debug_output_path;
  /// Room for them, in bytes.
  size_t debug_buffer_size = 64 << 20;
  bool list = false;
  bool help = false;
};

/// Reads the command line; ends the process with a line on stderr if it is wrong.
Options parse_options(int argc, char** argv);

/// Prints all options.
void print_help();

}  // namespace executorch::extension::executor_runner
