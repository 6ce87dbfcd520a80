// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Program files as values that can be changed, and back.
#pragma once

#include <stdint.h>

#include <optional>
#include <vector>

#include <executorch/runtime/core/span.h>

#include "runtime/executor/program_builder.h"

namespace executorch::fuzz {

/// The values of a well-formed flatbuffer, valid or not; nothing if it is not well-formed.
std::optional<testing::TestProgram> read_program(runtime::Span<const uint8_t> file);

/// Bytes after the file are the script of its run, so that an input alone reproduces a finding.
struct ProgramInput {
  runtime::Span<const uint8_t> file;
  uint64_t script = 0;
};

ProgramInput split_input(runtime::Span<const uint8_t> bytes);
std::vector<uint8_t> join_input(const testing::TestProgram& program, uint64_t script);

}  // namespace executorch::fuzz
