// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// FunctionRef, under its documented path.
#pragma once

#include <executorch/runtime/core/function_ref.h>

namespace executorch::extension::pytree {
using ::executorch::runtime::FunctionRef;
}  // namespace executorch::extension::pytree
