// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The steps from one method of a verified program to a Method, in order.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Arguments of Program::load_method(). All must outlive the call.
struct MethodRequest {
  const Program& program;
  const executorch_flatbuffer::ExecutionPlan& plan;
  MemoryManager& memory;
  EventTracer* event_tracer;
  const NamedDataMap* named_data_map;
  const LoadBackendOptionsMap* backend_options;
  /// Empty: the registered ones.
  Span<const Kernel> kernels;
};

class MethodLoader final {
 public:
  static Result<Method> load(const MethodRequest& request);

 private:
  MethodLoader(const MethodRequest& request, Method* method)
      : request_(request),
        method_(*method),
        data_(request.named_data_map, request.program.data_map_,
              request.program.program_data_.size()) {}

  Error run();
  Error allocate();
  Error check_planned_memory() const;
  Error mark_inputs() const;
  Error load_delegates();
  void track_allocators();
  void report_planned_memory();
  /// Bytes taken from the method allocator since the last report.
  void report_allocated();

  const MethodRequest& request_;
  Method& method_;
  internal::MergedDataMap data_;
  AllocatorID allocator_id_ = 0;
  size_t allocated_before_ = 0;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
