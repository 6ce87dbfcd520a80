// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Converts a typed kernel to the boxed one that the executor calls:
//
//   Tensor& add_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other,
//                   const Scalar& alpha, Tensor& out);
//   constexpr Kernel kernel = make_kernel<&add_out>("aten::add.out");
//
// The context parameter is optional. The return value is ignored, because outputs are arguments.
// docs/architecture.md has the table of C++ types for schema types.
//
// The conversion gives two functions. The check verifies number and kinds of the arguments; kernels
// of equal signature share it. The boxed function reads the arguments unchecked and must only be
// called after the check passed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// A set of Tags that an argument may have: bit i for the tag of number i.
using ArgKinds = uint16_t;

template <typename... T>
constexpr ArgKinds kinds_of(T... tags) {
  return static_cast<ArgKinds>((0u | ... | (1u << static_cast<uint32_t>(tags))));
}

/// Implementation of all checks; see ArgCheck. Also checks items of lists.
Error check_arguments(Span<EValue* const> args, Span<const ArgKinds> expected);

template <ArgKinds... kKinds>
Error check_signature(Span<EValue* const> args) {
  if constexpr (sizeof...(kKinds) == 0) {
    return check_arguments(args, {});
  } else {
    static constexpr ArgKinds kExpected[] = {kKinds...};
    return check_arguments(args, Span<const ArgKinds>(kExpected));
  }
}

/// Reads an argument of type T from a value of the listed kinds.
template <typename T>
struct Unbox {
  static_assert(std::is_enum_v<T>, "no schema type has this C++ type: see docs/architecture.md");
  static constexpr ArgKinds kKinds = kinds_of(Tag::Int);
  // Map invalid enumerators to the last one (NumOptions), which kernels refuse: a narrowing
  // conversion could produce a valid enumerator.
  static T get(EValue& value) {
    const int64_t number = value.payload.copyable_union.as_int;
    return number >= 0 && number < static_cast<int64_t>(T::NumOptions) ? static_cast<T>(number)
                                                                       : T::NumOptions;
  }
};

template <>
struct Unbox<int64_t> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::Int);
  static int64_t get(EValue& value) { return value.payload.copyable_union.as_int; }
};

template <>
struct Unbox<bool> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::Bool);
  static bool get(EValue& value) { return value.payload.copyable_union.as_bool; }
};

template <>
struct Unbox<double> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::Double, Tag::Int);
  static double get(EValue& value) {
    return value.isDouble() ? value.payload.copyable_union.as_double
                            : static_cast<double>(value.payload.copyable_union.as_int);
  }
};

template <>
struct Unbox<executorch::aten::Scalar> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::Int, Tag::Double, Tag::Bool);
  static executorch::aten::Scalar get(EValue& value) {
    const auto& payload = value.payload.copyable_union;
    return value.isDouble() ? executorch::aten::Scalar(payload.as_double)
           : value.isBool() ? executorch::aten::Scalar(payload.as_bool)
                            : executorch::aten::Scalar(payload.as_int);
  }
};

template <>
struct Unbox<executorch::aten::Tensor> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::Tensor);
  static executorch::aten::Tensor& get(EValue& value) { return value.payload.as_tensor; }
};

template <>
struct Unbox<std::string_view> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::String);
  static std::string_view get(EValue& value) {
    const auto& text = *value.payload.copyable_union.as_string_ptr;
    return {text.data(), text.size()};
  }
};

template <>
struct Unbox<executorch::aten::ArrayRef<int64_t>> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::ListInt);
  static executorch::aten::ArrayRef<int64_t> get(EValue& value) {
    return value.payload.copyable_union.as_int_list_ptr->get();
  }
};

template <>
struct Unbox<executorch::aten::ArrayRef<double>> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::ListDouble);
  static executorch::aten::ArrayRef<double> get(EValue& value) {
    return *value.payload.copyable_union.as_double_list_ptr;
  }
};

template <>
struct Unbox<executorch::aten::ArrayRef<bool>> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::ListBool);
  static executorch::aten::ArrayRef<bool> get(EValue& value) {
    return *value.payload.copyable_union.as_bool_list_ptr;
  }
};

template <>
struct Unbox<executorch::aten::ArrayRef<executorch::aten::Tensor>> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::ListTensor);
  static executorch::aten::ArrayRef<executorch::aten::Tensor> get(EValue& value) {
    return value.payload.copyable_union.as_tensor_list_ptr->get();
  }
};

template <>
struct Unbox<executorch::aten::ArrayRef<std::optional<executorch::aten::Tensor>>> {
  static constexpr ArgKinds kKinds = kinds_of(Tag::ListOptionalTensor);
  static executorch::aten::ArrayRef<std::optional<executorch::aten::Tensor>> get(EValue& value) {
    return value.payload.copyable_union.as_list_optional_tensor_ptr->get();
  }
};

template <typename T>
struct Unbox<std::optional<T>> {
  static constexpr ArgKinds kKinds = Unbox<T>::kKinds | kinds_of(Tag::None);
  static std::optional<T> get(EValue& value) {
    return value.isNone() ? std::optional<T>() : std::optional<T>(Unbox<T>::get(value));
  }
};

#ifdef USE_ATEN_LIB
/// ATen has a type of its own for an optional list.
template <typename T>
struct Unbox<executorch::aten::OptionalArrayRef<T>> {
  using List = executorch::aten::ArrayRef<T>;
  static constexpr ArgKinds kKinds = Unbox<std::optional<List>>::kKinds;
  static executorch::aten::OptionalArrayRef<T> get(EValue& value) {
    return Unbox<std::optional<List>>::get(value);
  }
};
#endif

template <typename T>
using unbox_t = Unbox<std::remove_cv_t<std::remove_reference_t<T>>>;

/// Written arguments (see Kernel::written_): Tensor& parameters, or else a trailing tensor list.
template <typename... Args>
constexpr uint64_t written_arguments() {
  constexpr size_t kCount = sizeof...(Args);
  constexpr bool kWritten[] = {std::is_same_v<Args, executorch::aten::Tensor&>..., false};
  constexpr bool kLists[] = {
      std::is_same_v<Args, executorch::aten::ArrayRef<executorch::aten::Tensor>>..., false};
  uint64_t written = 0;
  for (size_t i = 0; i < kCount; ++i) {
    written |= kWritten[i] ? uint64_t{1} << i : 0;
  }
  constexpr size_t kLast = kCount > 0 ? kCount - 1 : 0;
  return written == 0 && kLists[kLast] ? uint64_t{1} << kLast : written;
}

/// Takes a kernel's signature apart, with or without a context as the first parameter.
template <typename Function>
struct Signature;

template <typename Return, typename... Args>
struct Signature<Return (*)(Args...)> {
  template <auto kFunction, size_t... kIndex>
  static void call(KernelRuntimeContext&, [[maybe_unused]] Span<EValue*> args,
                   std::index_sequence<kIndex...>) {
    kFunction(unbox_t<Args>::get(*args.data()[kIndex])...);
  }
  template <auto kFunction>
  static void boxed(KernelRuntimeContext& context, Span<EValue*> args) {
    call<kFunction>(context, args, std::index_sequence_for<Args...>());
  }
  static constexpr ArgCheck kCheck = &check_signature<unbox_t<Args>::kKinds...>;
  static constexpr uint64_t kWritten = written_arguments<Args...>();
};

template <typename Return, typename... Args>
struct Signature<Return (*)(KernelRuntimeContext&, Args...)> {
  template <auto kFunction, size_t... kIndex>
  static void call(KernelRuntimeContext& context, [[maybe_unused]] Span<EValue*> args,
                   std::index_sequence<kIndex...>) {
    kFunction(context, unbox_t<Args>::get(*args.data()[kIndex])...);
  }
  template <auto kFunction>
  static void boxed(KernelRuntimeContext& context, Span<EValue*> args) {
    call<kFunction>(context, args, std::index_sequence_for<Args...>());
  }
  static constexpr ArgCheck kCheck = &check_signature<unbox_t<Args>::kKinds...>;
  static constexpr uint64_t kWritten = written_arguments<Args...>();
};

}  // namespace internal

/// The kernel of `kFunction` (a pointer to a typed function) under this name and, unless it is for
/// all tensors, key.
template <auto kFunction>
constexpr Kernel make_kernel(const char* name, KernelKey key = {}) {
  using Signature = internal::Signature<decltype(kFunction)>;
  Kernel kernel(name, key, &Signature::template boxed<kFunction>, Signature::kCheck);
  kernel.written_ = Signature::kWritten;
  return kernel;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
