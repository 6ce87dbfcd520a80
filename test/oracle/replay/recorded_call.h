// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Calls of kernels with what eager gave, as call_recorder.py writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "kernels/kernel_entry.h"

namespace oracle {

struct Tensor {
  executorch::aten::ScalarType dtype{};
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<uint8_t>
      data;  // Dense, in dim order; as long as the elements, so that overruns are seen.
  bool resizable = false;
};

struct Value {
  OracleKind kind = kNone;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  Tensor tensor;
  std::vector<Value> items;
};

/// The expected value of an argument after the call; `sizes_only` if elements are not determined.
struct Expected {
  size_t position;
  Value value;
  double rtol;
  double atol;
  bool sizes_only;
};

struct Call {
  std::string name;
  bool refused = false;  // Eager refuses it, and so must the kernel.
  size_t outputs = 0;    // Of `values`, the last.
  std::vector<Value> values;
  std::vector<Expected> expected;
};

/// All calls of a file. Exits the program with a message if the file cannot be read or is damaged.
std::vector<Call> read_calls(const char* path);

/// The elements of a tensor of these sizes.
size_t count_elements(const std::vector<int32_t>& sizes);

/// As `aten::add.out(float32[2, 3], 1, -> float32[2, 3])`.
std::string describe(const Call& call);

}  // namespace oracle
