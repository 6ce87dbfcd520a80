// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// EventTracer: interface through which executor and backends report events.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/types.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

using AllocatorID = uint32_t;
/// The index of a chain of a program; kUnsetChainId outside of any.
using ChainID = int32_t;
/// The index of an instruction in its chain.
using DebugHandle = uint32_t;
/// Number that a backend assigned at export to a part of its work.
using DelegateDebugIntId = int32_t;

/// Name of the event around a kernel's event.
inline constexpr char kOperatorCallName[] = "OPERATOR_CALL";
constexpr ChainID kUnsetChainId = -1;
constexpr DebugHandle kUnsetDebugHandle = 0;
constexpr DelegateDebugIntId kUnsetDelegateDebugIntId = -1;
/// No bundled input is being run.
constexpr int kUnsetBundledInputIndex = -1;

/// Kind of identifier of a part of a backend's work.
enum class DelegateDebugIdType { kNone, kInt, kStr };

enum class LoggedEValueType { kIntermediateOutput = 0, kProgramOutput = 1 };

/// Values to record.
enum class EventTracerDebugLogLevel { kNoLogging, kProgramOutputs, kIntermediateOutputs };

/// Times to record.
enum class EventTracerProfilingLevel { kProfileMethodOnly, kProfileAllEvents };

/// Selects the intermediate outputs of a delegate to record.
class EventTracerFilterBase {
 public:
  virtual ~EventTracerFilterBase() = default;
  /// True to record the output of this name or, if `name` is null, of this number.
  virtual Result<bool> filter(const char* name, DelegateDebugIntId delegate_debug_index) = 0;
};

/// An event that has begun and not ended.
struct EventTracerEntry {
  int64_t event_id = -1;
  ChainID chain_id = kUnsetChainId;
  DebugHandle debug_handle = kUnsetDebugHandle;
  et_timestamp_t start_time = 0;
  DelegateDebugIdType delegate_event_id_type = DelegateDebugIdType::kNone;
};

/// An operator's call that has begun and not ended: the kernel's event, and the event around it.
struct EventTracerOperatorEntry {
  EventTracerEntry around;
  EventTracerEntry kernel;
};

/// Receives events. Strings, values and metadata passed to it are valid during the call only.
class EventTracer {
 public:
  virtual ~EventTracer() = default;

  /// Begins a group of events, such as one execution.
  virtual void create_event_block(const char* name) = 0;

  /// Begins an event. Without a chain and handle, it uses the current ones (see
  /// set_chain_debug_handle()).
  virtual EventTracerEntry start_profiling(const char* name, ChainID chain_id = kUnsetChainId,
                                           DebugHandle debug_handle = kUnsetDebugHandle) = 0;
  virtual void end_profiling(EventTracerEntry prof_entry) = 0;

  /// Begins the events of an operator's call: "OPERATOR_CALL", and within it the kernel's. They
  /// begin and end together, so that a tracer may read the clock once for both.
  virtual EventTracerOperatorEntry start_operator(const char* kernel_name) {
    const EventTracerEntry around = start_profiling(kOperatorCallName);
    return {around, start_profiling(kernel_name)};
  }
  virtual void end_operator(const EventTracerOperatorEntry& entry) {
    end_profiling(entry.kernel);
    end_profiling(entry.around);
  }

  /// Begins an event inside of a delegate: named either by `name` or by `delegate_debug_index`, the
  /// other is null or kUnsetDelegateDebugIntId.
  virtual EventTracerEntry start_profiling_delegate(const char* name,
                                                    DelegateDebugIntId delegate_debug_index) = 0;
  virtual void end_profiling_delegate(EventTracerEntry event_tracer_entry,
                                      const void* metadata = nullptr, size_t metadata_len = 0) = 0;

  /// Records an event inside of a delegate that has ended; times in the delegate's own clock.
  virtual void log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                      et_timestamp_t start_time, et_timestamp_t end_time,
                                      const void* metadata = nullptr, size_t metadata_len = 0) = 0;

  virtual AllocatorID track_allocator(const char* name) = 0;
  virtual void track_allocation(AllocatorID id, size_t size) = 0;

  /// Records a value; true if it was recorded, false if the level or a filter left it out.
  virtual Result<bool> log_evalue(const EValue& evalue, LoggedEValueType evalue_type) = 0;

  virtual Result<bool> log_intermediate_output_delegate(const char* name,
                                                        DelegateDebugIntId delegate_debug_index,
                                                        const executorch::aten::Tensor& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(
      const char* name, DelegateDebugIntId delegate_debug_index,
      const executorch::aten::ArrayRef<executorch::aten::Tensor> output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name,
                                                        DelegateDebugIntId delegate_debug_index,
                                                        const int& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name,
                                                        DelegateDebugIntId delegate_debug_index,
                                                        const bool& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name,
                                                        DelegateDebugIntId delegate_debug_index,
                                                        const double& output) = 0;

  /// The filter must outlive the tracer's use; null records everything.
  virtual void set_delegation_intermediate_output_filter(
      EventTracerFilterBase* event_tracer_filter) = 0;

  /// Current position of the execution; the executor sets it before each instruction.
  void set_chain_debug_handle(ChainID chain_id, DebugHandle debug_handle) {
    chain_id_ = chain_id;
    debug_handle_ = debug_handle;
  }
  ChainID current_chain_id() const { return chain_id_; }
  DebugHandle current_debug_handle() const { return debug_handle_; }

  void set_bundled_input_index(int index) { bundled_input_index_ = index; }
  int bundled_input_index() const { return bundled_input_index_; }

  void set_event_tracer_debug_level(EventTracerDebugLogLevel level) { debug_level_ = level; }
  EventTracerDebugLogLevel event_tracer_debug_level() const { return debug_level_; }
  /// True if the level includes intermediate outputs.
  bool intermediate_outputs_logging_status() const {
    return debug_level_ >= EventTracerDebugLogLevel::kIntermediateOutputs;
  }

  void set_event_tracer_profiling_level(EventTracerProfilingLevel level) {
    profiling_level_ = level;
  }
  EventTracerProfilingLevel event_tracer_profiling_level() const { return profiling_level_; }

 protected:
  ChainID chain_id_ = kUnsetChainId;
  DebugHandle debug_handle_ = kUnsetDebugHandle;
  int bundled_input_index_ = kUnsetBundledInputIndex;
  EventTracerDebugLogLevel debug_level_ = EventTracerDebugLogLevel::kNoLogging;
  EventTracerProfilingLevel profiling_level_ = EventTracerProfilingLevel::kProfileAllEvents;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::AllocatorID;
using ::executorch::runtime::ChainID;
using ::executorch::runtime::DebugHandle;
using ::executorch::runtime::DelegateDebugIdType;
using ::executorch::runtime::DelegateDebugIntId;
using ::executorch::runtime::EventTracer;
using ::executorch::runtime::EventTracerDebugLogLevel;
using ::executorch::runtime::EventTracerEntry;
using ::executorch::runtime::EventTracerFilterBase;
using ::executorch::runtime::EventTracerProfilingLevel;
using ::executorch::runtime::kUnsetBundledInputIndex;
using ::executorch::runtime::kUnsetChainId;
using ::executorch::runtime::kUnsetDebugHandle;
using ::executorch::runtime::kUnsetDelegateDebugIntId;
using ::executorch::runtime::LoggedEValueType;
}  // namespace torch::executor
