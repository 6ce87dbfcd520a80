// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

void EValue::abort_wrong_tag([[maybe_unused]] Tag expected) const {
#if ET_LOG_ENABLED
  // Indexed by Tag. The words are those of ExecuTorch's messages, which tests compare.
  static constexpr const char* kKinds[] = {
      "none",      "tensor",      "string",   "double",      "int",         "bool",
      "bool list", "double list", "int list", "tensor list", "scalar list", "list optional tensor"};
  const auto kind = [](Tag of) {
    const size_t index = static_cast<size_t>(of);
    return index < sizeof(kKinds) / sizeof(kKinds[0]) ? kKinds[index] : "unknown";
  };
  if (tag == expected) {
    ET_LOG(Fatal, "EValue %s pointer is null", kind(tag));
  } else {
    ET_LOG(Fatal, "EValue is not a%s %s: its kind is %s", kind(expected)[0] == 'i' ? "n" : "",
           kind(expected), kind(tag));
  }
#endif
  executorch::runtime::runtime_abort();
}

namespace {

using executorch::aten::Tensor;

/// The items that get() assigns may be uninitialized, or hold earlier reference-counted items.
template <typename T>
void put(T* to, T item) {
  if constexpr (std::is_trivially_destructible_v<T>) {
    new (to) T(item);
  } else {
    *to = std::move(item);
  }
}

/// Unwraps one item into `to`; false if it is null or of another kind.
bool unwrap(const EValue* item, int64_t* to) {
  if (item == nullptr || !item->isInt()) {
    return false;
  }
  *to = item->payload.copyable_union.as_int;
  return true;
}

bool unwrap(const EValue* item, Tensor* to) {
  if (item == nullptr || !item->isTensor()) {
    return false;
  }
  put(to, item->payload.as_tensor);
  return true;
}

bool unwrap(const EValue* item, std::optional<Tensor>* to) {
  if (item == nullptr || item->isNone()) {
    put(to, std::optional<Tensor>());
    return true;
  }
  if (!item->isTensor()) {
    return false;
  }
  put(to, std::optional<Tensor>(item->payload.as_tensor));
  return true;
}

}  // namespace

template <typename T>
Result<executorch::aten::ArrayRef<T>> BoxedEvalueList<T>::tryGet() const {
  for (int i = 0; i < size_; ++i) {
    const EValue* const item = wrapped_vals_[i];
    if (!unwrap(item, &unwrapped_vals_[i])) {
      ET_LOG(Error, "item %d of a list of %d is %s", i, size_,
             item == nullptr ? "null" : "of another kind than the list");
      return item == nullptr ? Error::InvalidState : Error::InvalidType;
    }
  }
  return executorch::aten::ArrayRef<T>(unwrapped_vals_, static_cast<size_t>(size_));
}

template <typename T>
executorch::aten::ArrayRef<T> BoxedEvalueList<T>::get() const {
  return *tryGet();
}

template class BoxedEvalueList<int64_t>;
template class BoxedEvalueList<Tensor>;
template class BoxedEvalueList<std::optional<Tensor>>;

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
