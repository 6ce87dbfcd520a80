// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Context of a backend's init(). Valid only during the call, except memory from
/// get_runtime_allocator(), which lives as long as the delegate.
class BackendInitContext final {
 public:
  /// All but the allocator may be null or empty.
  explicit BackendInitContext(MemoryAllocator* runtime_allocator,
                              EventTracer* event_tracer = nullptr,
                              const char* method_name = nullptr,
                              const NamedDataMap* named_data_map = nullptr,
                              Span<const BackendOption> runtime_specs = {},
                              const void* program = nullptr)
      : runtime_allocator_(runtime_allocator),
        event_tracer_(event_tracer),
        method_name_(method_name),
        named_data_map_(named_data_map),
        runtime_specs_(runtime_specs),
        program_(program) {}

  MemoryAllocator* get_runtime_allocator() { return runtime_allocator_; }
  /// From get_runtime_allocator(); nullptr if there is too little.
  void* allocate(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment) {
    return runtime_allocator_->allocate(size, alignment);
  }
  EventTracer* event_tracer() { return event_tracer_; }
  const char* get_method_name() const { return method_name_; }
  const NamedDataMap* get_named_data_map() const { return named_data_map_; }
  /// A pointer that all methods of a program share, as long as it lives; only to be compared. May
  /// be null.
  const void* program() const { return program_; }

  /// The options that the program was loaded with.
  Span<const BackendOption> runtime_specs() const { return runtime_specs_; }
  /// Returns one runtime spec; T is bool, int or const char*. NotFound if it was not given,
  /// InvalidArgument for another type.
  template <typename T>
  Result<T> get_runtime_spec(const char* key) const {
    const BackendOption* option = executorch::runtime::internal::find_option(runtime_specs_, key);
    if (option == nullptr) {
      return Error::NotFound;
    }
    T value;
    ET_CHECK_OK_OR_RETURN_ERROR(executorch::runtime::internal::read_option(*option, value));
    return value;
  }

 private:
  MemoryAllocator* runtime_allocator_;
  EventTracer* event_tracer_;
  const char* method_name_;
  const NamedDataMap* named_data_map_;
  Span<const BackendOption> runtime_specs_;
  const void* program_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::BackendInitContext;
}  // namespace torch::executor
