// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <executorch/runtime/core/evalue.h>

namespace executorch::kernels {

/// Converts a program's value for an argument of the dispatcher's schema: a number becomes a list
/// of one where the schema has a list, an int becomes a float where it has a float. Throws
/// c10::Error for kinds that ATen lacks.
c10::IValue to_ivalue(const runtime::EValue& value, const c10::Argument& argument);

}  // namespace executorch::kernels
