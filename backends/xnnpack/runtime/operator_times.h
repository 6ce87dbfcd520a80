// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <xnnpack.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch::backends::xnnpack {

/// Reports how long each operator of the last run took, one after the other from `begin` (in ticks
/// of the platform's clock, with XNNPACK's resolution of a microsecond), named as XNNPACK does and
/// numbered: "Fully Connected (NC, F32) GEMM #1". The runtime must have been created with
/// XNN_FLAG_BASIC_PROFILING.
runtime::Error report_operator_times(xnn_runtime_t runtime, et_timestamp_t begin,
                                     ET_RUNTIME_NAMESPACE::EventTracer& tracer);

}  // namespace executorch::backends::xnnpack
