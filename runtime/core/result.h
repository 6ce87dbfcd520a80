// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime {

/// A value of type T, or the Error that prevented it. Test ok() before taking the value: taking it
/// from a failed result ends the program.
template <typename T>
class [[nodiscard]] Result final {
 public:
  using value_type = T;

  /// An error. Error::Ok is invalid here and becomes Error::Internal.
  /* implicit */ Result(Error error)
      : error_(error == Error::Ok ? Error::Internal : error), has_value_(false) {}
  /* implicit */ Result(const T& value) : value_(value), has_value_(true) {}
  /* implicit */ Result(T&& value) : value_(std::move(value)), has_value_(true) {}

  Result(Result&& other) noexcept : has_value_(other.has_value_) {
    if (has_value_) {
      new (&value_) value_storage(std::move(other.value_));
    } else {
      error_ = other.error_;
    }
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;

  ~Result() {
    if (has_value_) {
      value_.~value_storage();
    }
  }

  [[nodiscard]] bool ok() const { return has_value_; }
  [[nodiscard]] Error error() const { return has_value_ ? Error::Ok : error_; }

  T& get() { return checked(); }
  const T& get() const { return checked(); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return checked(); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &checked(); }

 private:
  // T may be const (Result<const TensorLayout>); the storage must not be.
  using value_storage = std::remove_const_t<T>;

  T& checked() {
    ET_CHECK_MSG(has_value_, "value taken from a failed Result");
    return value_;
  }
  const T& checked() const {
    ET_CHECK_MSG(has_value_, "value taken from a failed Result");
    return value_;
  }

  union {
    value_storage value_;
    Error error_;
  };
  const bool has_value_;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Result;
}  // namespace torch::executor

/// The value of a Result, or a return of its error from the calling function; further arguments
/// are a log message: auto value = ET_UNWRAP(expr[, format, ...]);
#define ET_UNWRAP(...)                                                 \
  ET_INTERNAL_WITH_OR_WITHOUT_MESSAGE(ET_INTERNAL_UNWRAP, __VA_ARGS__) \
  (__VA_ARGS__)

#define ET_INTERNAL_UNWRAP_PLAIN(expr)   \
  __extension__({                        \
    auto et_result_ = (expr);            \
    if (ET_UNLIKELY(!et_result_.ok())) { \
      return et_result_.error();         \
    }                                    \
    std::move(*et_result_);              \
  })

#define ET_INTERNAL_UNWRAP_MESSAGE(expr, ...) \
  __extension__({                             \
    auto et_result_ = (expr);                 \
    if (ET_UNLIKELY(!et_result_.ok())) {      \
      ET_LOG(Error, __VA_ARGS__);             \
      return et_result_.error();              \
    }                                         \
    std::move(*et_result_);                   \
  })

/// Declares `name` with the value of a Result, or returns its error from the calling function;
/// further arguments are a log message: ET_ASSIGN_OR_RETURN(name, expr[, format, ...]);
#define ET_ASSIGN_OR_RETURN(name, ...)                                 \
  ET_INTERNAL_WITH_OR_WITHOUT_MESSAGE(ET_INTERNAL_ASSIGN, __VA_ARGS__) \
  (name, __VA_ARGS__)

#define ET_INTERNAL_ASSIGN_PLAIN(name, expr)    \
  auto et_result_of_##name = (expr);            \
  if (ET_UNLIKELY(!et_result_of_##name.ok())) { \
    return et_result_of_##name.error();         \
  }                                             \
  auto name = std::move(*et_result_of_##name)

#define ET_INTERNAL_ASSIGN_MESSAGE(name, expr, ...) \
  auto et_result_of_##name = (expr);                \
  if (ET_UNLIKELY(!et_result_of_##name.ok())) {     \
    ET_LOG(Error, __VA_ARGS__);                     \
    return et_result_of_##name.error();             \
  }                                                 \
  auto name = std::move(*et_result_of_##name)
