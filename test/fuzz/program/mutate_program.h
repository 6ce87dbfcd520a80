// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include "fuzz/program/program_editor.h"

namespace executorch::fuzz {

/// Changes relations between values: which tensors share memory, which values two instructions or
/// two arguments have in common, what lists, moves and views refer to, where jumps lead, what is an
/// input; and values themselves. The program is a well-formed flatbuffer afterwards, which the
/// verifier may refuse.
void mutate(testing::TestProgram& program, Random& random);

/// Adds a call of an operator, with arguments made for its schema or taken from the program.
void add_call(ProgramEditor& editor, const Signature& signature);

/// The same of any operator, or a recorded call that its kernel accepts.
void add_any_call(ProgramEditor& editor);

/// Plans the method's memory as a function of the inputs' sizes, if it is not.
void add_parametric_plan(ProgramEditor& editor);

/// A program of a few such calls.
testing::TestProgram generate_program(Random& random);

/// Moves each planned tensor, or group of overlapping ones, to a planned buffer of its own, of the
/// smallest size, so that a sanitizer detects accesses beyond it. Programs with a parametric plan
/// stay unchanged.
void separate_planned(testing::TestProgram& program);

/// For LLVMFuzzerCustomMutator of targets whose inputs are programs and scripts.
size_t mutate_input(uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace executorch::fuzz
