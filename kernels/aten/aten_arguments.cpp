// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/aten/aten_arguments.h>

#include <ATen/core/jit_type.h>

#include <string>

namespace executorch::kernels {

using runtime::EValue;
using runtime::Tag;

namespace {

/// The type that a schema gives an argument, without Optional around it, or that of its items.
struct ArgumentKind {
  explicit ArgumentKind(const c10::Argument& argument) {
    const c10::Type* type = argument.type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) {
      type = optional->getElementType().get();
    }
    if (const auto* list = type->castRaw<c10::ListType>()) {
      is_list = true;
      type = list->getElementType().get();
    }
    kind = type->kind();
  }

  c10::TypeKind kind;
  bool is_list = false;
};

template <typename T, typename Items>
c10::List<T> list_of(const Items& items) {
  c10::List<T> list;
  list.reserve(items.size());
  for (const auto& item : items) {
    list.push_back(item);
  }
  return list;
}

c10::IValue of_int(int64_t value, const ArgumentKind& expected) {
  if (expected.kind == c10::TypeKind::FloatType) {
    const auto real = static_cast<double>(value);
    return expected.is_list ? c10::IValue(c10::List<double>({real})) : c10::IValue(real);
  }
  return expected.is_list ? c10::IValue(c10::List<int64_t>({value})) : c10::IValue(value);
}

}  // namespace

c10::IValue to_ivalue(const EValue& value, const c10::Argument& argument) {
  switch (value.tag) {
    case Tag::None:
      return c10::IValue();
    case Tag::Tensor:
      return c10::IValue(value.toTensor());
    case Tag::Bool:
      return c10::IValue(value.toBool());
    case Tag::String:
      return c10::IValue(std::string(value.toString()));
    case Tag::ListDouble:
      return list_of<double>(value.toDoubleList());
    case Tag::ListBool:
      return list_of<bool>(value.toBoolList());
    case Tag::ListOptionalTensor:
      return list_of<std::optional<at::Tensor>>(value.toListOptionalTensor());
    default:
      break;
  }
  const ArgumentKind expected(argument);
  switch (value.tag) {
    case Tag::Int:
      return of_int(value.toInt(), expected);
    case Tag::Double:
      return expected.is_list ? c10::IValue(c10::List<double>({value.toDouble()}))
                              : c10::IValue(value.toDouble());
    case Tag::ListInt:
      if (expected.kind == c10::TypeKind::FloatType) {
        return list_of<double>(value.toIntList());
      }
      return list_of<int64_t>(value.toIntList());
    case Tag::ListTensor:
      if (expected.kind == c10::TypeKind::OptionalType) {
        return list_of<std::optional<at::Tensor>>(value.toTensorList());
      }
      return list_of<at::Tensor>(value.toTensorList());
    default:
      TORCH_CHECK(false, "argument '", argument.name(), "' is of a kind unknown to ATen");
  }
}

}  // namespace executorch::kernels
