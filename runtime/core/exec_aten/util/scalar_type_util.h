// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Element types for kernels outside of this project, with macros. The project's own code includes
// dtype_info.h.
#pragma once

#include <executorch/runtime/core/exec_aten/compatibility/dtype_traits.h>
#include <executorch/runtime/core/exec_aten/compatibility/forall_types.h>
#include <executorch/runtime/core/exec_aten/compatibility/switch_types.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch::aten {
using ::executorch::runtime::elementSize;
}  // namespace executorch::aten

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::can_cast;
using ::executorch::runtime::canCast;
using ::executorch::runtime::convert;
using ::executorch::runtime::CppTypeToScalarType;
using ::executorch::runtime::elementSize;
using ::executorch::runtime::is_barebones_unsigned_type;
using ::executorch::runtime::is_bits_type;
using ::executorch::runtime::is_complex_type;
using ::executorch::runtime::is_float8_type;
using ::executorch::runtime::is_floating_point;
using ::executorch::runtime::is_integral_type;
using ::executorch::runtime::is_qint_type;
using ::executorch::runtime::is_reduced_floating_point;
using ::executorch::runtime::isBitsType;
using ::executorch::runtime::isComplexType;
using ::executorch::runtime::isFloatingType;
using ::executorch::runtime::isIntegralType;
using ::executorch::runtime::isQIntType;
using ::executorch::runtime::isRealHBType;
using ::executorch::runtime::isRealHType;
using ::executorch::runtime::isRealType;
using ::executorch::runtime::isValid;
using ::executorch::runtime::promote_types;
using ::executorch::runtime::promoteTypes;
using ::executorch::runtime::ScalarTypeToCppType;
using ::executorch::runtime::toString;
}  // namespace torch::executor
