// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The executor's side of event tracing. With ET_EVENT_TRACER_DISABLED all of it compiles to
// nothing; otherwise, a null tracer costs one comparison.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

// The documented name, for code that tests whether events are compiled in.
#if !defined(ET_EVENT_TRACER_DISABLED) && !defined(ET_EVENT_TRACER_ENABLED)
#define ET_EVENT_TRACER_ENABLED
#endif

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

constexpr bool event_tracer_enabled() {
#ifdef ET_EVENT_TRACER_ENABLED
  return true;
#else
  return false;
#endif
}

/// True if there is a tracer to report to.
inline bool tracing(EventTracer* tracer) { return event_tracer_enabled() && tracer != nullptr; }

/// An event that lasts as long as the scope; `name` must outlive it.
class EventTracerProfileMethodScope {
 public:
  EventTracerProfileMethodScope(EventTracer* tracer, const char* name)
      : EventTracerProfileMethodScope(tracer, name, tracing(tracer)) {}
  EventTracerProfileMethodScope(const EventTracerProfileMethodScope&) = delete;
  EventTracerProfileMethodScope& operator=(const EventTracerProfileMethodScope&) = delete;
  ~EventTracerProfileMethodScope() {
    if (tracing(tracer_)) {
      tracer_->end_profiling(entry_);
    }
  }

 protected:
  EventTracerProfileMethodScope(EventTracer* tracer, const char* name, bool active)
      : tracer_(active ? tracer : nullptr) {
    // Without event tracing `active` is always false. The compiler cannot see that here, where the
    // constructor is not inlined.
    if (event_tracer_enabled() && active) {
      entry_ = tracer->start_profiling(name);
    }
  }

 private:
  EventTracer* tracer_;
  EventTracerEntry entry_;
};

/// The same for an operator: left out at EventTracerProfilingLevel::kProfileMethodOnly.
class EventTracerProfileOpScope final : public EventTracerProfileMethodScope {
 public:
  EventTracerProfileOpScope(EventTracer* tracer, const char* name)
      : EventTracerProfileMethodScope(
            tracer, name,
            tracing(tracer) && tracer->event_tracer_profiling_level() >
                                   EventTracerProfilingLevel::kProfileMethodOnly) {}
};
using EventTracerProfileScope = EventTracerProfileOpScope;

/// An operator's call, as long as the scope lasts; omitted when EventTracerProfileOpScope is.
class EventTracerOperatorScope final {
 public:
  EventTracerOperatorScope(EventTracer* tracer, const char* kernel_name)
      : tracer_(tracing(tracer) && tracer->event_tracer_profiling_level() >
                                       EventTracerProfilingLevel::kProfileMethodOnly
                    ? tracer
                    : nullptr) {
    if (tracing(tracer_)) {
      entry_ = tracer_->start_operator(kernel_name);
    }
  }
  EventTracerOperatorScope(const EventTracerOperatorScope&) = delete;
  EventTracerOperatorScope& operator=(const EventTracerOperatorScope&) = delete;
  ~EventTracerOperatorScope() {
    if (tracing(tracer_)) {
      tracer_->end_operator(entry_);
    }
  }

 private:
  EventTracer* tracer_;
  EventTracerOperatorEntry entry_;
};

/// Reports which instruction is running, as long as the scope lasts.
class EventTracerProfileInstructionScope final {
 public:
  EventTracerProfileInstructionScope(EventTracer* tracer, ChainID chain, DebugHandle handle)
      : tracer_(tracer) {
    if (tracing(tracer_)) {
      tracer_->set_chain_debug_handle(chain, handle);
    }
  }
  EventTracerProfileInstructionScope(const EventTracerProfileInstructionScope&) = delete;
  EventTracerProfileInstructionScope& operator=(const EventTracerProfileInstructionScope&) = delete;
  ~EventTracerProfileInstructionScope() {
    if (tracing(tracer_)) {
      tracer_->set_chain_debug_handle(kUnsetChainId, kUnsetDebugHandle);
    }
  }

 private:
  EventTracer* tracer_;
};

inline void event_tracer_create_event_block(EventTracer* tracer, const char* name) {
  if (tracing(tracer)) {
    tracer->create_event_block(name);
  }
}

inline EventTracerEntry event_tracer_begin_profiling_event(EventTracer* tracer, const char* name) {
  return tracing(tracer) ? tracer->start_profiling(name) : EventTracerEntry();
}

inline void event_tracer_end_profiling_event(EventTracer* tracer, EventTracerEntry entry) {
  if (tracing(tracer)) {
    tracer->end_profiling(entry);
  }
}

inline AllocatorID event_tracer_track_allocator(EventTracer* tracer, const char* name) {
  return tracing(tracer) ? tracer->track_allocator(name) : AllocatorID{0};
}

inline void event_tracer_track_allocation(EventTracer* tracer, AllocatorID id, size_t size) {
  if (tracing(tracer)) {
    tracer->track_allocation(id, size);
  }
}

/// Passes a value to the tracer if its level includes such values. The tracer reports its own
/// failures; execution continues.
inline void event_tracer_log(EventTracer* tracer, const EValue& value, LoggedEValueType type,
                             EventTracerDebugLogLevel level) {
  if (tracing(tracer) && tracer->event_tracer_debug_level() >= level) {
    const Result<bool> recorded = tracer->log_evalue(value, type);
    if (!recorded.ok()) {
      ET_LOG(Error, "event tracer: value not recorded: %s", to_string(recorded.error()));
    }
  }
}

inline void event_tracer_log_evalue(EventTracer* tracer, const EValue& value) {
  event_tracer_log(tracer, value, LoggedEValueType::kIntermediateOutput,
                   EventTracerDebugLogLevel::kIntermediateOutputs);
}

inline void event_tracer_log_evalue_output(EventTracer* tracer, const EValue& value) {
  event_tracer_log(tracer, value, LoggedEValueType::kProgramOutput,
                   EventTracerDebugLogLevel::kProgramOutputs);
}

inline void event_tracer_set_bundled_input_index(EventTracer* tracer, int index) {
  if (tracing(tracer)) {
    tracer->set_bundled_input_index(index);
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor::internal {
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_begin_profiling_event;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_create_event_block;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_end_profiling_event;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_log_evalue;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_log_evalue_output;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_set_bundled_input_index;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_track_allocation;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::event_tracer_track_allocator;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::EventTracerProfileInstructionScope;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::EventTracerProfileMethodScope;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::EventTracerProfileOpScope;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::EventTracerProfileScope;
}  // namespace torch::executor::internal
