// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <xnnpack.h>

#include <string>
#include <vector>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch::backends::xnnpack {

/// How long the operators of a runtime take, which must have been created with
/// XNN_FLAG_BASIC_PROFILING.
class OperatorTimes final {
 public:
  /// Reports the last run, one operator after the other from `begin` (in ticks of the platform's
  /// clock, with XNNPACK's resolution of a microsecond), under its label (see operator_labels()).
  /// @param graph What the runtime was made of.
  runtime::Error report(xnn_runtime_t runtime, const fb_xnnpack::XNNGraph& graph,
                        et_timestamp_t begin, ET_RUNTIME_NAMESPACE::EventTracer& tracer);

 private:
  std::vector<std::string> labels_;
};

}  // namespace executorch::backends::xnnpack
