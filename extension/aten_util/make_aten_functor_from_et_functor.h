// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Wraps a typed kernel as an ATen function, so that one kernel serves eager PyTorch and the device:
//
//   Tensor& mul3_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out);  // portable types
//   TORCH_LIBRARY(my_ops, m) {
//     m.def("mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", WRAP_TO_ATEN(mul3_out, 1));
//   }
//
// For builds with PyTorch's headers and libraries. Dense tensors are shared. Others are copied to
// dense memory, and an output is copied back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <executorch/extension/aten_util/shared_tensor.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::extension::internal {

/// ATen type of a parameter and its conversion to a portable value. The object owns the memory the
/// value refers to and must not move after get().
template <class T>
struct FromAten {
  static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                    std::is_same_v<T, bool> || std::is_same_v<T, std::string_view>,
                "WRAP_TO_ATEN does not support this parameter type");
  using type = T;
  explicit FromAten(T value) : value_(value) {}
  T get() { return value_; }

 private:
  T value_;
};

template <>
struct FromAten<runtime::etensor::Tensor> {
  using type = const at::Tensor&;
  explicit FromAten(const at::Tensor& tensor) : shared_(tensor) {}
  runtime::etensor::Tensor& get() { return shared_.tensor(); }
  void finish() { shared_.copy_back(); }

 private:
  SharedTensor shared_;
};

template <>
struct FromAten<runtime::etensor::Scalar> {
  using type = const at::Scalar&;
  explicit FromAten(const at::Scalar& scalar)
      : value_(scalar.isBoolean()         ? runtime::etensor::Scalar(scalar.toBool())
               : scalar.isFloatingPoint() ? runtime::etensor::Scalar(scalar.toDouble())
                                          : runtime::etensor::Scalar(scalar.toLong())) {}
  runtime::etensor::Scalar& get() { return value_; }

 private:
  runtime::etensor::Scalar value_;
};

template <>
struct FromAten<runtime::etensor::ScalarType> {
  using type = at::ScalarType;
  explicit FromAten(at::ScalarType dtype)
      : value_(static_cast<runtime::etensor::ScalarType>(dtype)) {}
  runtime::etensor::ScalarType get() { return value_; }

 private:
  runtime::etensor::ScalarType value_;
};

template <class T>
struct FromAten<runtime::ArrayRef<T>> {
  using type = at::ArrayRef<T>;
  explicit FromAten(type list) : value_(list.data(), list.size()) {}
  runtime::ArrayRef<T> get() { return value_; }

 private:
  runtime::ArrayRef<T> value_;
};

template <>
struct FromAten<runtime::ArrayRef<runtime::etensor::Tensor>> {
  using type = at::TensorList;
  explicit FromAten(at::TensorList list) : shared_(list.begin(), list.end()) {
    for (SharedTensor& tensor : shared_) {
      tensors_.push_back(tensor.tensor());
    }
  }
  runtime::ArrayRef<runtime::etensor::Tensor> get() { return {tensors_.data(), tensors_.size()}; }

 private:
  std::deque<SharedTensor> shared_;
  std::vector<runtime::etensor::Tensor> tensors_;
};

template <>
struct FromAten<runtime::ArrayRef<std::optional<runtime::etensor::Tensor>>> {
  using type = const c10::List<std::optional<at::Tensor>>&;
  explicit FromAten(type list) {
    for (const std::optional<at::Tensor> tensor : list) {
      tensors_.emplace_back();
      if (tensor.has_value()) {
        tensors_.back() = shared_.emplace_back(*tensor).tensor();
      }
    }
  }
  runtime::ArrayRef<std::optional<runtime::etensor::Tensor>> get() {
    return {tensors_.data(), tensors_.size()};
  }

 private:
  std::deque<SharedTensor> shared_;
  std::vector<std::optional<runtime::etensor::Tensor>> tensors_;
};

/// ATen has a separate type for an optional list.
template <class T>
struct OptionalOf {
  using type = std::optional<std::decay_t<T>>;
};
template <class T>
struct OptionalOf<at::ArrayRef<T>> {
  using type = at::OptionalArrayRef<T>;
};

template <class T>
struct FromAten<std::optional<T>> {
  using type = typename OptionalOf<typename FromAten<T>::type>::type;
  explicit FromAten(const type& value) {
    if (value.has_value()) {
      item_.emplace(*value);
      value_.emplace(item_->get());
    }
  }
  std::optional<T>& get() { return value_; }

 private:
  std::optional<FromAten<T>> item_;
  std::optional<T> value_;
};

template <class T>
using from_aten_t = FromAten<std::remove_cv_t<std::remove_reference_t<T>>>;

/// The parameter type in ATen's functions: an output is not const.
template <class T>
using aten_parameter_t = std::conditional_t<std::is_same_v<T, runtime::etensor::Tensor&>,
                                            at::Tensor&, typename from_aten_t<T>::type>;

template <auto kFunction, size_t kOut, bool kContext, class... Args>
struct AtenFunction {
  static_assert(kOut < sizeof...(Args), "the output's index is not below the number of arguments");
  static_assert(
      std::is_same_v<std::tuple_element_t<kOut, std::tuple<Args...>>, runtime::etensor::Tensor&>,
      "the argument of the output's index is not a Tensor&");

  static at::Tensor& call(aten_parameter_t<Args>... args) {
    runtime::runtime_init();
    std::tuple<from_aten_t<Args>...> converted(args...);
    MallocMemoryAllocator temporary;
    runtime::KernelRuntimeContext context(nullptr, &temporary);
    std::apply(
        [&](auto&... value) {
          if constexpr (kContext) {
            kFunction(context, value.get()...);
          } else {
            kFunction(value.get()...);
          }
        },
        converted);
    TORCH_CHECK(context.failure_state() == runtime::Error::Ok,
                "the kernel failed: ", runtime::to_string(context.failure_state()));
    std::get<kOut>(converted).finish();
    return std::get<kOut>(std::forward_as_tuple(args...));
  }
};

template <auto kFunction, size_t kOut, class Function>
struct AtenFunctionOf;
template <auto kFunction, size_t kOut, class Return, class... Args>
struct AtenFunctionOf<kFunction, kOut, Return (*)(Args...)>
    : AtenFunction<kFunction, kOut, false, Args...> {};
template <auto kFunction, size_t kOut, class Return, class... Args>
struct AtenFunctionOf<kFunction, kOut, Return (*)(runtime::KernelRuntimeContext&, Args...)>
    : AtenFunction<kFunction, kOut, true, Args...> {};

}  // namespace executorch::extension::internal

/// Pointer to the ATen function that wraps a kernel. `out_index`: index of the output among the
/// operator's arguments, without the context. The function throws c10::Error if the kernel fails,
/// for tensors on other devices than the CPU, and for an output that is too small.
#define WRAP_TO_ATEN(function, out_index)                                   \
  (&::executorch::extension::internal::AtenFunctionOf<&function, out_index, \
                                                      decltype(&function)>::call)
