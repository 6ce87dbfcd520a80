// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The command line of executor_runner.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/module/method_memory.h>

namespace executorch::extension::executor_runner {

/// Short and Summary: the first and last 5 or 100 values of each output.
enum class PrintOutput { Short, Summary, All, Shape, None };

struct Options {
  std::string model_path;
  /// The file must be a bundled program, whose test cases are run. Without it the file decides.
  bool bundled = false;
  /// A case passes within atol + rtol * |expected|. Not given: see rtol_or_default().
  std::optional<double> rtol;
  std::optional<double> atol;
  /// Signature of the program and data files, and the PEM file of the signer's public key; empty:
  /// no verification.
  std::string signature;
  std::string public_key;
  /// .ptd files with weights of the program.
  std::vector<std::string> data_paths;
  /// Empty: "forward", or the only method.
  std::string method;
  /// Empty: ones.
  std::vector<std::string> inputs;
  /// The sizes of each input of the method, or none for one that stays as it is. Empty: all stay.
  std::vector<std::vector<int32_t>> input_shapes;
  /// Runs once for each line of standard input, with the input files read again.
  bool server_mode = false;
  size_t num_executions = 1;
  /// 0: one for each usable physical core.
  size_t threads = 0;
  /// Maximum number of bytes that a method may request, and of instructions that its loops may run;
  /// 0: no limit.
  size_t max_planned_bytes = default_max_planned_bytes();
  size_t instruction_budget = 0;
  /// Maximum number of bytes for intermediate results of an XNNPACK delegate; unset: its default.
  std::optional<size_t> max_workspace_bytes;
  /// A file for weights that a backend has packed; empty: none.
  std::string packed_cache;
  /// The precision that a backend's products may round to; empty: the program's own.
  std::string compute_precision;
  PrintOutput print_output = PrintOutput::Short;
  /// File for outputs; empty: do not write them.
  std::string output_file;
  /// File for the run's events; empty: do not record them.
  std::string etdump_path;
  /// File for computed tensors; empty: do not record them.
  std::string debug_output_path;
  /// Capacity for them, in bytes.
  size_t debug_buffer_size = 64 << 20;
  bool list = false;
  bool help = false;

  /// --bundled compares closely. Without it, the tolerance is the documented one of 0.01.
  double rtol_or_default() const { return rtol.value_or(bundled ? 1e-5 : 0.01); }
  double atol_or_default() const { return atol.value_or(bundled ? 1e-8 : 0.01); }
};

/// Reads the command line; ends the process with a line on stderr if it is wrong.
Options parse_options(int argc, char** argv);

/// Prints all options.
void print_help();

}  // namespace executorch::extension::executor_runner
