// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

namespace executorch::runtime {

/// Prepares the platform layer. Call it once before the first use of the runtime; calling it
/// again does no harm.
void runtime_init();

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::runtime_init;
}  // namespace torch::executor
