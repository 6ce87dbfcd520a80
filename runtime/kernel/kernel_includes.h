// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// All that the source of a kernel outside of this project needs.
#pragma once

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#ifndef USE_ATEN_LIB
#include <executorch/runtime/core/portable_type/bfloat16_math.h>
#include <executorch/runtime/core/portable_type/optional.h>
#include <executorch/runtime/core/portable_type/string_view.h>
#endif
#include <executorch/runtime/kernel/kernel_runtime_context.h>

/// A constant for an operator's name, for ET_SWITCH_…: ET_DEFINE_OPERATOR_NAME(kName, "add.out");
#define ET_OPERATOR_NAME_TYPE const char*
#define ET_DEFINE_OPERATOR_NAME(variable, name) static constexpr const char variable[] = name
