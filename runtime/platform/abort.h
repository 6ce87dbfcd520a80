// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/platform/compiler.h>

namespace executorch::runtime {

/// Ends the program through the platform layer.
ET_NORETURN void runtime_abort();

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::runtime_abort;
}  // namespace torch::executor
