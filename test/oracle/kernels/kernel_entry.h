// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One registered kernel, called with arguments that are plain structures: by kernel_entry.py
// through ctypes, and by the program that replays recorded calls.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/memory_allocator.h>

#include <cstdint>
#include <string>

extern "C" {

/// The layouts of these are repeated in kernel_entry.py.
struct OracleTensor {
  void* data;
  int32_t* sizes;  // Written back: an output may be resized.
  int32_t* strides;
  uint8_t* dim_order;
  int32_t dtype;
  int32_t rank;
  int32_t resizable;
};

enum OracleKind : int32_t {
  kNone,
  kInt,
  kBool,
  kDouble,
  kString,
  kTensor,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList,
  kOptionalTensorList,
};

struct OracleValue {
  int32_t kind;
  int64_t integer;  // Also a bool, and a list's or string's length.
  double real;
  const char* text;
  OracleTensor* tensor;
  OracleValue* items;
};

}  // extern "C"

namespace oracle {

struct KernelRun {
  executorch::runtime::Error error;
  bool ran;  // false: the error is from before the kernel.
};

/// Runs the kernel registered as `name`; outputs are the last of `values`, and get their sizes
/// written back. Log messages are appended to `messages`.
KernelRun run_kernel(const char* name, OracleValue* values, int64_t count,
                     executorch::runtime::MemoryAllocator& temp, std::string& messages);

}  // namespace oracle
