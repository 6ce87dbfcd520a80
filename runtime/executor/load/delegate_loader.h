// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Initializes the delegates of a verified program, and destroys them.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

class DelegateLoader final {
 public:
  /// All arguments must outlive it; tracer and options may be null.
  DelegateLoader(const Program& program, const char* method_name, MemoryAllocator* allocator,
                 EventTracer* event_tracer, const NamedDataMap& data,
                 const LoadBackendOptionsMap* options)
      : program_(program),
        method_name_(method_name),
        allocator_(allocator),
        event_tracer_(event_tracer),
        data_(data),
        options_(options) {}

  /// Constructs `delegate`, with its compile specs in `specs`. A failure leaves nothing to free.
  /// @retval Error::NotFound The backend is not registered or not available. Other errors are
  /// the backend's.
  Error load(const executorch_flatbuffer::BackendDelegate& source, Span<CompileSpec> specs,
             Delegate* delegate) const;

 private:
  Result<FreeableBuffer> load_processed(const executorch_flatbuffer::BackendDelegate& source) const;

  const Program& program_;
  const char* method_name_;
  MemoryAllocator* allocator_;
  EventTracer* event_tracer_;
  const NamedDataMap& data_;
  const LoadBackendOptionsMap* options_;
};

/// Destroys a delegate that load() has made.
void destroy_delegate(Delegate& delegate);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
