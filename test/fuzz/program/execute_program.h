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

/// Says if another thread may change inputs during an execution: then its course depends on time.
enum class OtherThreads { Change, None };

/// Loads a program (hostile bytes), loads each of its methods with memory of exactly the size that
/// it requests, and executes it several times. Every planned buffer, input and output is a heap
/// block of its own, and the inputs of one execution are freed before the next: a sanitizer sees
/// every byte too many. A method that needs more than a few megabytes is left out, and one that
/// runs without an end is stopped.
///
/// `script` decides what else happens: how often the method is executed, the inputs' sizes and
/// values (so that branches go both ways), whether an event tracer records, and whether another
/// thread changes the inputs meanwhile. 0: two executions on ones. Without other threads, the same
/// number always has the same effect.
Outcome execute_program(runtime::Span<const uint8_t> program, uint64_t script = 0,
                        OtherThreads others = OtherThreads::Change);

/// Executes the program of a fuzzer's input, with the script of the input, and notes how far it got
/// as a feature.
void execute_input(runtime::Span<const uint8_t> bytes);

}  // namespace executorch::fuzz
