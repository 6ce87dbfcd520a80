// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A delegate's side of event tracing. With ET_EVENT_TRACER_DISABLED all of it compiles to nothing;
// a null tracer records nothing.
#pragma once

#include <stddef.h>

#include <type_traits>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Begins an event inside of a delegate. It has either a name or a number: the other is null or
/// kUnsetDelegateDebugIntId.
inline EventTracerEntry event_tracer_start_profiling_delegate(
    EventTracer* event_tracer, const char* name, DelegateDebugIntId delegate_debug_id) {
  return internal::tracing(event_tracer)
             ? event_tracer->start_profiling_delegate(name, delegate_debug_id)
             : EventTracerEntry();
}

/// Ends it. `metadata`, bytes in the delegate's own format, is copied.
inline void event_tracer_end_profiling_delegate(EventTracer* event_tracer,
                                                EventTracerEntry event_tracer_entry,
                                                const void* metadata = nullptr,
                                                size_t metadata_len = 0) {
  if (internal::tracing(event_tracer)) {
    event_tracer->end_profiling_delegate(event_tracer_entry, metadata, metadata_len);
  }
}

/// Records an event that has ended, with times in the delegate's own clock.
inline void event_tracer_log_profiling_delegate(EventTracer* event_tracer, const char* name,
                                                DelegateDebugIntId delegate_debug_id,
                                                et_timestamp_t start_time, et_timestamp_t end_time,
                                                const void* metadata = nullptr,
                                                size_t metadata_len = 0) {
  if (internal::tracing(event_tracer)) {
    event_tracer->log_profiling_delegate(name, delegate_debug_id, start_time, end_time, metadata,
                                         metadata_len);
  }
}

/// Records an intermediate result of a delegate: int, bool, double, Tensor or ArrayRef<Tensor>.
/// Logs an error if the tracer cannot store the value; execution continues.
template <typename T>
void event_tracer_log_output_delegate(EventTracer* event_tracer, const char* name,
                                      DelegateDebugIntId delegate_debug_id, const T& output) {
  using executorch::aten::ArrayRef;
  using executorch::aten::Tensor;
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, bool> || std::is_same_v<T, double> ||
                    std::is_same_v<T, Tensor> || std::is_same_v<T, ArrayRef<Tensor>>,
                "an intermediate output is an int, bool, double, Tensor or ArrayRef<Tensor>");
  if (internal::tracing(event_tracer)) {
    const Result<bool> recorded =
        event_tracer->log_intermediate_output_delegate(name, delegate_debug_id, output);
    if (!recorded.ok()) {
      ET_LOG(Error, "event tracer: output of a delegate not recorded: %s",
             to_string(recorded.error()));
    }
  }
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::event_tracer_end_profiling_delegate;
using ::executorch::runtime::event_tracer_log_output_delegate;
using ::executorch::runtime::event_tracer_log_profiling_delegate;
using ::executorch::runtime::event_tracer_start_profiling_delegate;
}  // namespace torch::executor
