// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <array>
#include <type_traits>

#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime {

/// View of `size()` contiguous objects, which must outlive it. Elements are writable unless T is
/// const; ArrayRef is always read-only.
template <typename T>
class Span final {
 public:
  using value_type = T;
  using iterator = T*;
  using size_type = size_t;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, size_t length) : data_(data), length_(length) {
    ET_DCHECK(data != nullptr || length == 0);
  }
  constexpr Span(T* begin, T* end) : Span(begin, static_cast<size_t>(end - begin)) {}
  template <size_t N>
  /* implicit */ constexpr Span(T (&array)[N]) : data_(array), length_(N) {}
  /* implicit */ constexpr Span(T& single) : data_(&single), length_(1) {}
  /// A Span<T> is a Span<const T>.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  /* implicit */ constexpr Span(Span<U> other) : data_(other.data()), length_(other.size()) {}

  constexpr iterator begin() const noexcept { return data_; }
  constexpr iterator end() const noexcept { return data_ + length_; }
  constexpr bool empty() const noexcept { return length_ == 0; }
  constexpr T* data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return length_; }

  constexpr T& operator[](size_t index) const {
    ET_DCHECK(index < length_);
    return data_[index];
  }

 private:
  T* data_ = nullptr;
  size_t length_ = 0;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Span;
}  // namespace torch::executor
