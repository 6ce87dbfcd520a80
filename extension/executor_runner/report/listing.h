// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>

#include <executorch/runtime/executor/program.h>

namespace executorch::extension::executor_runner {

/// Prints the metadata of a program's methods, for --list.
void print_listing(const runtime::Program& program);

/// Returns dtype and sizes, such as "float32 [2, 3]".
std::string tensor_text(executorch::aten::ScalarType type, runtime::Span<const int32_t> sizes);

}  // namespace executorch::extension::executor_runner
