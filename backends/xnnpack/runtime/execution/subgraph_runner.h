// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs a payload's graph as a subgraph of XNNPACK's.
#pragma once

#include <memory>
#include <vector>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/constants.h>
#include <executorch/backends/xnnpack/runtime/execution/graph_options.h>
#include <executorch/backends/xnnpack/runtime/operator_times.h>
#include <executorch/backends/xnnpack/runtime/payload.h>
#include <executorch/backends/xnnpack/runtime/shape_inference.h>
#include <executorch/backends/xnnpack/runtime/weights_session.h>
#include <executorch/backends/xnnpack/runtime/workspace.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch::backends::xnnpack {

struct RuntimeDeleter {
  void operator()(xnn_runtime_t runtime) const { xnn_delete_runtime(runtime); }
};

/// Whatever is done with it, its end too, needs the workspace's lock.
class SubgraphRunner final {
 public:
  /// See GraphOptions; takes the workspace's lock itself.
  static runtime::Result<std::unique_ptr<SubgraphRunner>> create(const Payload& payload,
                                                                 const Constants& constants,
                                                                 const GraphOptions& options);

  runtime::Error reshape(runtime::Span<const Shape> inputs, Workspace* workspace);
  runtime::Result<Shape> shape_of(size_t argument) const;
  runtime::Error run(runtime::Span<void* const> arguments, Workspace* workspace);
  runtime::Error report(ET_RUNTIME_NAMESPACE::EventTracer& tracer);

 private:
  explicit SubgraphRunner(const Payload& payload) : payload_(payload) {}

  Payload payload_;
  std::unique_ptr<xnn_runtime, RuntimeDeleter> runtime_;
  std::vector<xnn_external_value> values_;
  /// Whether XNNPACK knows where the arguments are.
  bool ready_ = false;
  bool is_profiled_ = false;
  et_timestamp_t begin_ = 0;
  OperatorTimes times_;
};

}  // namespace executorch::backends::xnnpack
