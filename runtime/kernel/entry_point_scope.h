// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/platform_memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Lets a kernel be called with any context; each typed entry point (Functions.h) has one. While it
/// exists, a context without temp allocator takes temporary memory from the platform, and the
/// failure of an earlier call is hidden from the kernel, which would stop because of it.
class EntryPointScope final {
 public:
  explicit EntryPointScope(KernelRuntimeContext& context)
      : context_(context),
        earlier_failure_(context.failure_state_),
        lends_memory_(context.temp_allocator_ == nullptr) {
    context_.failure_state_ = Error::Ok;
    if (lends_memory_) {
      context_.temp_allocator_ = &memory_;
    }
  }
  ~EntryPointScope() {
    if (context_.failure_state_ == Error::Ok) {
      context_.failure_state_ = earlier_failure_;
    }
    if (lends_memory_) {
      context_.temp_allocator_ = nullptr;
    }
  }

  EntryPointScope(const EntryPointScope&) = delete;
  EntryPointScope& operator=(const EntryPointScope&) = delete;

 private:
  KernelRuntimeContext& context_;
  const Error earlier_failure_;
  const bool lends_memory_;
  PlatformMemoryAllocator memory_;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
