// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <array>

#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime {

/// Read-only view of `size()` contiguous objects with the interface of ATen's ArrayRef. The objects
/// must outlive it.
template <typename T>
class ArrayRef final {
 public:
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  using value_type = T;

  constexpr ArrayRef() = default;
  /* implicit */ constexpr ArrayRef(const T& single) : data_(&single), length_(1) {}
  constexpr ArrayRef(const T* data, size_t length) : data_(data), length_(length) {
    ET_DCHECK(data != nullptr || length == 0);
  }
  constexpr ArrayRef(const T* begin, const T* end)
      : ArrayRef(begin, static_cast<size_t>(end - begin)) {}
  template <size_t N>
  /* implicit */ constexpr ArrayRef(const std::array<T, N>& array)
      : data_(array.data()), length_(N) {}
  template <size_t N>
  /* implicit */ constexpr ArrayRef(const T (&array)[N]) : data_(array), length_(N) {}

  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + length_; }
  constexpr const_iterator cbegin() const { return data_; }
  constexpr const_iterator cend() const { return data_ + length_; }
  constexpr bool empty() const { return length_ == 0; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return length_; }

  const T& front() const { return at(0); }
  const T& back() const { return at(length_ - 1); }
  constexpr const T& operator[](size_t index) const {
    ET_DCHECK(index < length_);
    return data_[index];
  }
  /// Ends the program if `index` is out of range.
  const T& at(size_t index) const {
    ET_CHECK_MSG(index < length_, "index %zu of an ArrayRef of %zu", index, length_);
    return data_[index];
  }

  bool equals(ArrayRef other) const {
    if (length_ != other.length_) {
      return false;
    }
    for (size_t i = 0; i < length_; ++i) {
      if (!(data_[i] == other.data_[i])) {
        return false;
      }
    }
    return true;
  }

  /// `count` elements from `start` on; ends the program if there are fewer.
  constexpr ArrayRef slice(size_t start, size_t count) const {
    ET_CHECK_MSG(start <= length_ && count <= length_ - start, "slice [%zu, +%zu) of %zu", start,
                 count, length_);
    return ArrayRef(data_ + start, count);
  }
  constexpr ArrayRef slice(size_t start) const { return slice(start, length_ - start); }

 private:
  const T* data_ = nullptr;
  size_t length_ = 0;
};

template <typename T>
ArrayRef<T> makeArrayRef(const T& single) {
  return single;
}
template <typename T>
ArrayRef<T> makeArrayRef(const T* data, size_t length) {
  return {data, length};
}
template <typename T>
ArrayRef<T> makeArrayRef(const T* begin, const T* end) {
  return {begin, end};
}
template <typename T, size_t N>
ArrayRef<T> makeArrayRef(const std::array<T, N>& array) {
  return array;
}
template <typename T, size_t N>
ArrayRef<T> makeArrayRef(const T (&array)[N]) {
  return array;
}
template <typename T>
ArrayRef<T> makeArrayRef(const ArrayRef<T>& array) {
  return array;
}

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}

using IntArrayRef = ArrayRef<int64_t>;

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::ArrayRef;
using ::executorch::runtime::IntArrayRef;
using ::executorch::runtime::makeArrayRef;
}  // namespace torch::executor
