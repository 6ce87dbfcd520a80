// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// An event tracer that records nothing: tests override the functions that they observe.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

namespace executorch::testing {

class SilentTracer : public runtime::EventTracer {
 public:
  using ArrayOfTensors = executorch::aten::ArrayRef<executorch::aten::Tensor>;
  using Entry = runtime::EventTracerEntry;
  using Id = runtime::DelegateDebugIntId;

  void create_event_block(const char*) override {}
  Entry start_profiling(const char*, runtime::ChainID, runtime::DebugHandle) override { return {}; }
  void end_profiling(Entry) override {}
  Entry start_profiling_delegate(const char*, Id) override { return {}; }
  void end_profiling_delegate(Entry, const void*, size_t) override {}
  void log_profiling_delegate(const char*, Id, et_timestamp_t, et_timestamp_t, const void*,
                              size_t) override {}
  runtime::AllocatorID track_allocator(const char*) override { return 0; }
  void track_allocation(runtime::AllocatorID, size_t) override {}
  runtime::Result<bool> log_evalue(const runtime::EValue&, runtime::LoggedEValueType) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id,
                                                         const executorch::aten::Tensor&) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id,
                                                         const ArrayOfTensors) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const int&) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const bool&) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(runtime::EventTracerFilterBase*) override {}
};

}  // namespace executorch::testing
