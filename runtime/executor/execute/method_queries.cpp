// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Queries between executions: a method's delegates and attributes.
#include <algorithm>
#include <functional>

#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/kernel/platform_memory_allocator.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace fb = executorch_flatbuffer;
namespace et = executorch::aten;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::text;

size_t Method::delegate_scratch_size() const {
  constexpr size_t kOnStack = 16;
  Scratch on_stack[kOnStack];
  Scratch* all = on_stack;
  internal::PlatformMemoryAllocator platform;
  MemoryAllocator& temp = temp_allocator_ != nullptr ? *temp_allocator_ : platform;
  if (delegates_made_ > kOnStack) {
    all = temp.allocateList<Scratch>(delegates_made_);
  }
  size_t total = 0;
  for (size_t i = 0; i < delegates_made_; ++i) {
    const internal::Delegate& delegate = block_.delegates[i];
    const Scratch scratch = delegate.backend->scratch(delegate.handle);
    total += scratch.size;
    if (all != nullptr) {
      all[i] = scratch;
    }
  }
  if (all != nullptr) {
    std::sort(all, all + delegates_made_, [](const Scratch& a, const Scratch& b) {
      return std::less<const void*>()(a.memory, b.memory);
    });
    for (size_t i = 1; i < delegates_made_; ++i) {
      total -= all[i].memory != nullptr && all[i].memory == all[i - 1].memory ? all[i].size : 0;
    }
  }
  temp.reset();
  return total;
}

Error Method::describe_delegates(
    FunctionRef<void(size_t delegate, const DelegateOperator&)> visit) const {
  for (size_t i = 0; i < delegates_made_; ++i) {
    const internal::Delegate& delegate = block_.delegates[i];
    ET_CHECK_OK_OR_RETURN_ERROR(delegate.backend->describe(
        delegate.handle, [&](const DelegateOperator& op) { visit(i, op); }));
  }
  return Error::Ok;
}

Result<et::Tensor> Method::get_attribute(std::string_view name) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  // Queries in the order of the program share one walk over the values.
  const size_t size = block_.values.size();
  for (size_t looked_at = 0; looked_at < size; ++looked_at) {
    const size_t i = cache_.next_attribute;
    cache_.next_attribute = i + 1 < size ? i + 1 : 0;
    const fb::Tensor* tensor = tensor_at(*plan_, i);
    const fb::ExtraTensorInfo* extra = tensor == nullptr ? nullptr : tensor->extra_tensor_info();
    if (extra != nullptr && name == text(extra->fully_qualified_name())) {
      return block_.values[i].toTensor();
    }
  }
  ET_LOG(Error, "method '%s' has no attribute '%.*s'", this->name(), static_cast<int>(name.size()),
         name.data());
  return Error::NotFound;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
