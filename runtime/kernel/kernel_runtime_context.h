// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What a kernel is given besides its arguments. It is valid during the call of the kernel only.
class KernelRuntimeContext {
 public:
  /// Both may be null: nothing is traced, there is no temporary memory.
  /* implicit */ KernelRuntimeContext(EventTracer* event_tracer = nullptr,
                                      MemoryAllocator* temp_allocator = nullptr)
      : event_tracer_(event_tracer), temp_allocator_(temp_allocator) {}

  /// Says that the kernel could not do its work; the kernel then returns. The executor stops the
  /// execution with this error.
  void fail(Error error) { failure_state_ = error; }
  /// Error::Ok unless fail() was called.
  Error failure_state() const { return failure_state_; }

  /// Memory that is valid until the kernel returns. NotFound if there is no temporary memory,
  /// MemoryAllocationFailed if there is too little; a kernel that cannot do without says so.
  Result<void*> allocate_temp(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment);

  /// Where to report events; may be null.
  EventTracer* internal_event_tracer() { return event_tracer_; }
  /// For the executor, which resets it after the kernel; may be null.
  MemoryAllocator* internal_temp_allocator() { return temp_allocator_; }

 private:
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
