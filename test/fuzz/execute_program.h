// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch::fuzz {

/// How far one program got.
struct Outcome {
  runtime::Error load = runtime::Error::Ok;
  size_t methods_loaded = 0;
  size_t methods_executed = 0;
};

/// Loads a program (hostile bytes), loads each of its methods with memory of exactly the size that
/// it asks for, executes it with inputs of ones, and once more. Memory comes from the heap, so that
/// a sanitizer sees every byte too many. A method that wants more than a few megabytes is left out,
/// one that runs on and on is stopped.
Outcome execute_program(runtime::Span<const uint8_t> program);

}  // namespace executorch::fuzz
