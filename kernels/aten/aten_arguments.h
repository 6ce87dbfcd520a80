// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <executorch/runtime/core/evalue.h>

namespace executorch::kernels {

/// A program's value as the dispatcher takes it for an argument of its schema: a number for a list
/// is a list of one, an int for a float a float. Throws c10::Error for what ATen has no kind for.
c10::IValue to_ivalue(const runtime::EValue& value, const c10::Argument& argument);

}  // namespace executorch::kernels
