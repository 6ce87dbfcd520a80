// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

Result<void*> KernelRuntimeContext::allocate_temp(size_t size, size_t alignment) {
  // Logs nothing: a kernel that cannot work without temporary memory reports it.
  if (temp_allocator_ == nullptr) {
    return Error::NotFound;
  }
  void* const memory = temp_allocator_->allocate(size, alignment);
  if (memory == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  return memory;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
