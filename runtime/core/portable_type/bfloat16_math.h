// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// BFloat16 and Half, which convert to float: std::exp(x) and the like compute in float.
#pragma once

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>
