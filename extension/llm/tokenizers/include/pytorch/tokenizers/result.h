// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdlib>
#include <utility>
#include <variant>

#include <pytorch/tokenizers/error.h>

namespace tokenizers {

/// A value, or the error that prevented it.
template <typename T>
class [[nodiscard]] Result final {
 public:
  /* implicit */ Result(Error error) : content_(error == Error::Ok ? Error::Internal : error) {}
  /* implicit */ Result(const T& value) : content_(value) {}
  /* implicit */ Result(T&& value) : content_(std::move(value)) {}

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(content_); }
  [[nodiscard]] Error error() const { return ok() ? Error::Ok : *std::get_if<Error>(&content_); }

  // The value; without one, the process ends.
  T& get() { return value_of(*this); }
  const T& get() const { return value_of(*this); }
  T& operator*() & { return get(); }
  const T& operator*() const& { return get(); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

 private:
  template <typename Self>
  static auto& value_of(Self& self) {
    auto* const value = std::get_if<T>(&self.content_);
    if (value == nullptr) std::abort();
    return *value;
  }

  std::variant<Error, T> content_;
};

}  // namespace tokenizers
