// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/platform_memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// While it exists, a context without temp allocator takes temporary memory from the platform. Each
/// typed entry point (Functions.h) has one, so that a kernel can be called with a default context.
class PlatformTempMemory final {
 public:
  explicit PlatformTempMemory(KernelRuntimeContext& context)
      : context_(context.temp_allocator_ == nullptr ? &context : nullptr) {
    if (context_ != nullptr) {
      context_->temp_allocator_ = &memory_;
    }
  }
  ~PlatformTempMemory() {
    if (context_ != nullptr) {
      context_->temp_allocator_ = nullptr;
    }
  }

  PlatformTempMemory(const PlatformTempMemory&) = delete;
  PlatformTempMemory& operator=(const PlatformTempMemory&) = delete;

 private:
  KernelRuntimeContext* const context_;
  PlatformMemoryAllocator memory_;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
