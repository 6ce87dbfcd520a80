// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

void EValue::abort_wrong_tag(Tag expected) const {
  if (tag == expected) {
    ET_LOG(Fatal, "an EValue of kind %" PRIu32 " whose pointer is null",
           static_cast<uint32_t>(tag));
  } else {
    ET_LOG(Fatal, "an EValue of kind %" PRIu32 " read as one of kind %" PRIu32,
           static_cast<uint32_t>(tag), static_cast<uint32_t>(expected));
  }
  executorch::runtime::runtime_abort();
}

namespace {

using executorch::aten::Tensor;

// What get() fills may be uninitialized, or, of what counts references, hold earlier items.
template <typename T>
void put(T* to, T item) {
  if constexpr (std::is_trivially_destructible_v<T>) {
    new (to) T(item);
  } else {
    *to = std::move(item);
  }
}

// Whether a list of T may have `item`.
template <typename T>
Error check(const EValue* item) {
  if constexpr (std::is_same_v<T, std::optional<Tensor>>) {
    return item == nullptr || item->isNone() || item->isTensor() ? Error::Ok : Error::InvalidType;
  }
  if (item == nullptr) {
    return Error::InvalidState;
  }
  const bool is_right = std::is_same_v<T, int64_t> ? item->isInt() : item->isTensor();
  return is_right ? Error::Ok : Error::InvalidType;
}

// Unwraps an item that has passed check().
void unwrap(const EValue* item, int64_t* to) { *to = item->payload.copyable_union.as_int; }

void unwrap(const EValue* item, Tensor* to) { put(to, item->payload.as_tensor); }

void unwrap(const EValue* item, std::optional<Tensor>* to) {
  put(to, item != nullptr && item->isTensor() ? std::optional<Tensor>(item->payload.as_tensor)
                                              : std::optional<Tensor>());
}

}  // namespace

template <typename T>
Result<executorch::aten::ArrayRef<T>> BoxedEvalueList<T>::tryGet() const {
  for (int i = 0; i < size_; ++i) {
    const EValue* const item = wrapped_vals_[i];
    ET_CHECK_OK_OR_RETURN_ERROR(check<T>(item), "item %d of a list of %d is %s", i, size_,
                                item == nullptr ? "null" : "of another kind than the list");
    unwrap(item, &unwrapped_vals_[i]);
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
