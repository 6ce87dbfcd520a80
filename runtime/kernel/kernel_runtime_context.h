// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>

#ifndef EXECUTORCH_OWN_SOURCES  // headers that ExecuTorch 1.4 brings here
#include <executorch/runtime/core/event_tracer_hooks.h>
#endif

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace internal {
class EntryPointScope;
}

/// Context of a kernel call. Valid only during the call.
class KernelRuntimeContext {
 public:
  /// Both may be null, which disables tracing or temporary memory.
  /* implicit */ KernelRuntimeContext(EventTracer* event_tracer = nullptr,
                                      MemoryAllocator* temp_allocator = nullptr)
      : event_tracer_(event_tracer), temp_allocator_(temp_allocator) {}

  /// Records that the kernel could not do its work; the kernel then returns. The executor stops the
  /// execution with this error.
  void fail(Error error) { failure_state_ = error; }
  /// Error::Ok unless fail() was called.
  Error failure_state() const { return failure_state_; }

  /// Returns memory that is valid until the kernel returns. NotFound without temporary memory,
  /// MemoryAllocationFailed if it is too small; kernels that require it must document that.
  Result<void*> allocate_temp(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment);

  /// Event tracer; may be null.
  EventTracer* internal_event_tracer() { return event_tracer_; }
  /// For the executor, which resets it after the kernel; may be null.
  MemoryAllocator* internal_temp_allocator() { return temp_allocator_; }

 private:
  friend class internal::EntryPointScope;

  EventTracer* event_tracer_;
  MemoryAllocator* temp_allocator_;
  Error failure_state_ = Error::Ok;
};

}  // namespace ET_RUNTIME_NAMESPACE

namespace aten {
using RuntimeContext = ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
}  // namespace aten
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::KernelRuntimeContext;
using RuntimeContext = ::executorch::runtime::KernelRuntimeContext;
}  // namespace torch::executor
