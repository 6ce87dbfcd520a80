// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

Result<void*> KernelRuntimeContext::allocate_temp(size_t size, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(
      temp_allocator_ != nullptr, NotFound,
      "a kernel asks for %zu bytes of temporary memory, but there is none: give "
      "the MemoryManager a temp allocator",
      size);
  void* const memory = temp_allocator_->allocate(size, alignment);
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                           "a kernel asks for %zu bytes of temporary memory, too many", size);
  return memory;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
