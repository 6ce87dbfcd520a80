// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The payload of the demo backend, read into flat arrays. The format is described where it is
// written: exir/backend/test/demo_payload.py.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::demo {

constexpr size_t kMaxRank = 8;

/// A contiguous float tensor. `sizes` are the upper bounds until it is computed.
struct Value {
  size_t rank = 0;
  int32_t sizes[kMaxRank] = {};
  size_t capacity = 1;    // in elements, of the upper bounds
  float* data = nullptr;  // null for inputs, which bring their own
  bool is_ready = false;  // constants from the start; others once something writes them
};

enum class Operation : uint8_t { kAdd, kSub, kMul, kSin, kMm, kLinear };

struct Step {
  Operation operation = Operation::kAdd;
  float alpha = 1;
  size_t result = 0;
  size_t operands[3] = {};
  size_t operand_count = 0;
};

/// All indices are within `values`, and every operand is written before it is read.
struct Payload {
  runtime::Span<Value> values;
  runtime::Span<Step> steps;
  runtime::Span<size_t> inputs;
  runtime::Span<size_t> outputs;
};

/// Reads and checks `size` bytes at `data`; everything is copied to memory from `allocator`.
/// InvalidProgram (after a log message with the line) for what is not a payload, NotSupported for
/// an operation there is none of, MemoryAllocationFailed.
runtime::Result<Payload*> read_payload(const void* data, size_t size,
                                       runtime::MemoryAllocator& allocator);

}  // namespace executorch::demo
