// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The payload of the demo backend, read into flat arrays. The format is described where it is
// written: exir/backend/test/demo_payload.py.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::demo {

constexpr size_t kMaxRank = 8;

/// Writer of a value; kNone before the line that writes it.
enum class Origin : uint8_t { kNone, kInput, kConstant, kStep };

/// A contiguous float tensor. `sizes` are the upper bounds until it is computed.
struct Value {
  size_t rank = 0;
  int32_t sizes[kMaxRank] = {};
  size_t capacity = 1;    // in elements, of the upper bounds
  float* data = nullptr;  // null for inputs, which bring their own
  Origin origin = Origin::kNone;
};

enum class Operation : uint8_t { kAdd, kSub, kMul, kSin, kMm, kLinear };

struct Step {
  Operation operation = Operation::kAdd;
  float alpha = 1;
  size_t result = 0;
  size_t operands[3] = {};
  size_t operand_count = 0;
};

/// A constant that stores a step's result for the next execution.
struct Update {
  size_t state = 0;
  size_t value = 0;
};

/// All indices are within `values`, every operand is written before it is read, and updates are of
/// constants by results of steps.
struct Payload {
  runtime::Span<Value> values;
  runtime::Span<Step> steps;
  runtime::Span<size_t> inputs;
  runtime::Span<size_t> outputs;
  runtime::Span<Update> updates;
};

/// Reads and checks `size` bytes at `data`. Copies everything to memory from `allocator`, and
/// shared constants from `named_data` (null: none). InvalidProgram, after a log message with the
/// line, for an invalid payload, NotSupported for an unknown operation, NotFound for a missing
/// shared constant, MemoryAllocationFailed.
runtime::Result<Payload*> read_payload(const void* data, size_t size,
                                       runtime::MemoryAllocator& allocator,
                                       const runtime::NamedDataMap* named_data = nullptr);

}  // namespace executorch::demo
