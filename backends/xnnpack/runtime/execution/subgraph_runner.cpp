// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/subgraph_runner.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph_builder.h>
#include <executorch/backends/xnnpack/runtime/status.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::Result;
using runtime::Span;

Result<std::unique_ptr<SubgraphRunner>> SubgraphRunner::create(const Payload& payload,
                                                               const Constants& constants,
                                                               const GraphOptions& options) {
  std::unique_ptr<SubgraphRunner> runner(new SubgraphRunner(payload));
  const Subgraph graph = ET_UNWRAP(build_graph(payload, constants));
  for (uint32_t i = 0; i < payload.graph->num_externs(); ++i) {
    runner->values_.push_back({i, nullptr});
  }
  xnn_runtime_t created = nullptr;
  xnn_status status = xnn_status_success;
  {
    const std::unique_lock<std::mutex> held = options.workspace->lock();
    status = xnn_create_runtime_v4(
        graph.get(), options.weights == nullptr ? nullptr : options.weights->provider(),
        options.workspace->get(), options.threads,
        options.is_profiled ? XNN_FLAG_BASIC_PROFILING : 0, &created);
  }
  if (status != xnn_status_success) {
    ET_LOG(Error, "xnnpack: the graph cannot be run: %s", status_text(status));
    return status_error(status);
  }
  runner->runtime_.reset(created);
  runner->is_profiled_ = options.is_profiled;
  return runner;
}

Error SubgraphRunner::reshape(Span<const Shape> inputs, Workspace* workspace) {
  ready_ = false;
  xnn_status status = xnn_status_success;
  for (size_t i = 0; i < inputs.size() && status == xnn_status_success; ++i) {
    size_t dims[XNN_MAX_TENSOR_DIMS] = {};
    std::copy_n(inputs[i].dims, inputs[i].rank, dims);
    status = xnn_reshape_external_value(runtime_.get(), values_[i].id, inputs[i].rank, dims);
  }
  status = status == xnn_status_success ? workspace->reshape(runtime_.get()) : status;
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, InvalidArgument,
                           "xnnpack: inputs of these sizes cannot be run: %s", status_text(status));
  return Error::Ok;
}

Result<Shape> SubgraphRunner::shape_of(size_t argument) const {
  size_t rank = 0;
  size_t dims[XNN_MAX_TENSOR_DIMS];
  const xnn_status status =
      xnn_get_external_value_shape(runtime_.get(), values_[argument].id, &rank, dims);
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success && rank <= Shape::kMaxRank, Internal,
                           "xnnpack: the shape of argument %zu is unknown: %s", argument,
                           status_text(status));
  Shape shape;
  shape.rank = rank;
  std::copy_n(dims, rank, shape.dims);
  return shape;
}

Error SubgraphRunner::run(Span<void* const> arguments, Workspace*) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    ready_ = ready_ && values_[i].data == arguments[i];
    values_[i].data = arguments[i];
  }
  xnn_status status = xnn_status_success;
  if (!ready_) {
    status = xnn_setup_runtime_v2(runtime_.get(), values_.size(), values_.data());
  }
  begin_ = is_profiled_ ? runtime::pal_current_ticks() : 0;
  status = status == xnn_status_success ? xnn_invoke_runtime(runtime_.get()) : status;
  ready_ = status == xnn_status_success;
  if (!ready_) {
    ET_LOG(Error, "xnnpack: running failed: %s", status_text(status));
    return status_error(status);
  }
  return Error::Ok;
}

Error SubgraphRunner::report(ET_RUNTIME_NAMESPACE::EventTracer& tracer) {
  return times_.report(runtime_.get(), *payload_.graph, begin_, tracer);
}

}  // namespace executorch::backends::xnnpack
