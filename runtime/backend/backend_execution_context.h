// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Context of a backend's execute(). It and memory allocated from it are valid only during the
/// call.
class BackendExecutionContext final {
 public:
  /// All arguments may be null.
  explicit BackendExecutionContext(EventTracer* event_tracer = nullptr,
                                   MemoryAllocator* temp_allocator = nullptr,
                                   const char* method_name = nullptr)
      : event_tracer_(event_tracer), temp_allocator_(temp_allocator), method_name_(method_name) {}

  EventTracer* event_tracer() { return event_tracer_; }
  /// Never null in a call by a Method.
  MemoryAllocator* get_temp_allocator() { return temp_allocator_; }
  /// Temporary memory; nullptr if there is none or too little.
  void* allocate(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment) {
    return temp_allocator_ == nullptr ? nullptr : temp_allocator_->allocate(size, alignment);
  }
  const char* get_method_name() const { return method_name_; }

 private:
  EventTracer* event_tracer_;
  MemoryAllocator* temp_allocator_;
  const char* method_name_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::BackendExecutionContext;
}  // namespace torch::executor
