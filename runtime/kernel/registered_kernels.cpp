// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// get_registered_kernels() is in a separate file, so that it is linked only where it is used: it is
// the only function of the registry that allocates memory.
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

Span<const Kernel> get_registered_kernels() {
  static Kernel* list = nullptr;
  static size_t list_size = 0;
  const size_t count = registered_kernel_count();
  if (count != list_size) {  // kernels are never removed: an equal count means equal lists
    executorch::runtime::pal_free(list);
    list = static_cast<Kernel*>(executorch::runtime::pal_allocate(count * sizeof(Kernel)));
    list_size = list == nullptr ? 0 : count;
    for (size_t i = 0; i < list_size; ++i) {
      new (list + i) Kernel(registered_kernel(i));
    }
  }
  return {list, list_size};
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
