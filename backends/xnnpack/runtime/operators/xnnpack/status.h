// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <xnnpack.h>

#include <executorch/runtime/core/error.h>

namespace executorch::backends::xnnpack {

/// The text for a status of XNNPACK.
const char* status_text(xnn_status status);

/// The error for a status of XNNPACK.
runtime::Error status_error(xnn_status status);

}  // namespace executorch::backends::xnnpack
