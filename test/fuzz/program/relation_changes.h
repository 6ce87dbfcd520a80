// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Every way to change one relation of a program: tensors that share memory, references of calls,
// lists, views, moves, frees and jumps, and sizes and dtypes that have to agree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/program/program_editor.h"

namespace executorch::testing {

struct RelationChange {
  /// The relation, for counts.
  std::string relation;
  std::function<void(fuzz::ProgramEditor&)> apply;
};

/// The changes of the program's first method. The program is well-formed after each, though the
/// verifier may refuse it.
std::vector<RelationChange> relation_changes(const TestProgram& program);

}  // namespace executorch::testing
