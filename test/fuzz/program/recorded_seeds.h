// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Calls that kernels accept, of corpus/recorded.calls (record_calls.py writes it).
#pragma once

#include <vector>

#include "fuzz/program/program_editor.h"
#include "replay/recorded_call.h"

namespace executorch::fuzz {

/// Empty if FUZZ_CORPUS does not have the file.
const std::vector<oracle::Call>& recorded_calls();

/// Adds the call to a program, its tensors as inputs and constants.
void add_recorded_call(ProgramEditor& editor, const oracle::Call& call);

}  // namespace executorch::fuzz
