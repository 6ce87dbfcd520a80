// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tag.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

struct EValue;

/// A list whose items are values of the program, so that an item may change while the program runs
/// (a symbolic size in an int list). T is int64_t, Tensor or std::optional<Tensor>.
///
/// It owns neither array: both have `size` elements and must outlive the list. In a list of
/// optional tensors a null pointer, or a None value, is an absent tensor.
template <typename T>
class BoxedEvalueList final {
 public:
  BoxedEvalueList() = default;
  /// `unwrapped_vals` is the memory that get() fills; it may be uninitialized, except for
  /// at::Tensors.
  BoxedEvalueList(EValue** wrapped_vals, T* unwrapped_vals, int size)
      : wrapped_vals_(wrapped_vals), unwrapped_vals_(unwrapped_vals), size_(size) {
    ET_CHECK_MSG(size >= 0, "BoxedEvalueList: size cannot be negative, found %d", size);
    ET_CHECK_MSG(size == 0 || (wrapped_vals != nullptr && unwrapped_vals != nullptr),
                 "BoxedEvalueList: %swrapped_vals cannot be null",
                 wrapped_vals == nullptr ? "" : "un");
  }

  /// Reads every item into the list's memory and returns a view of it, valid until the next call.
  /// Aborts if an item is not a T; use tryGet() for untrusted items.
  executorch::aten::ArrayRef<T> get() const;
  /// Like get(), but returns InvalidType if an item is not a T, InvalidState if an item is null in
  /// a list without optional items.
  Result<executorch::aten::ArrayRef<T>> tryGet() const;

  size_t size() const { return static_cast<size_t>(size_); }
  /// The item as a value of the program; nullptr is an absent tensor.
  const EValue* wrapped(size_t index) const { return wrapped_vals_[index]; }

 private:
  EValue** wrapped_vals_ = nullptr;
  T* unwrapped_vals_ = nullptr;
  int size_ = 0;
};

namespace internal {

/// Return type of to<T>(): tensors by reference, everything else by value.
template <typename T, typename Ref>
using evalue_to_return = std::conditional_t<std::is_same_v<T, executorch::aten::Tensor>, Ref, T>;

template <typename T>
struct is_optional : std::false_type {};
template <typename T>
struct is_optional<std::optional<T>> : std::true_type {};

}  // namespace internal

/// A value of a program: a tag and 8 bytes. Tensors, strings and lists are references to objects
/// that must outlive it. Copying copies the reference.
///
/// The toX() functions end the program if the value is of another kind (see the isX() functions),
/// or is a string or list whose payload is a null pointer; the tryToX() functions return
/// Error::InvalidType and Error::InvalidState instead. Alignment is 8 on every processor, 32-bit
/// x86 too, because the alias model keeps its nodes in the memory of values.
struct alignas(8) EValue {
  union Payload {
    union TriviallyCopyablePayload {
      int64_t as_int;
      double as_double;
      bool as_bool;
      executorch::aten::ArrayRef<char>* as_string_ptr;
      executorch::aten::ArrayRef<double>* as_double_list_ptr;
      executorch::aten::ArrayRef<bool>* as_bool_list_ptr;
      BoxedEvalueList<int64_t>* as_int_list_ptr;
      BoxedEvalueList<executorch::aten::Tensor>* as_tensor_list_ptr;
      BoxedEvalueList<std::optional<executorch::aten::Tensor>>* as_list_optional_tensor_ptr;
    } copyable_union;
    executorch::aten::Tensor as_tensor;

    Payload() : copyable_union{0} {}
#ifdef USE_ATEN_LIB
    ~Payload() {}
#endif
  };

  Payload payload;
  Tag tag;

  EValue() : tag(Tag::None) {}
  /* implicit */ EValue(int64_t value) : tag(Tag::Int) { payload.copyable_union.as_int = value; }
  /* implicit */ EValue(double value) : tag(Tag::Double) {
    payload.copyable_union.as_double = value;
  }
  /* implicit */ EValue(bool value) : tag(Tag::Bool) { payload.copyable_union.as_bool = value; }
  /* implicit */ EValue(executorch::aten::Scalar value) : EValue() {
    if (value.isFloatingPoint()) {
      *this = EValue(value.to<double>());
    } else if (value.isBoolean()) {
      *this = EValue(value.to<bool>());
    } else {
      *this = EValue(value.to<int64_t>());
    }
  }
  /* implicit */ EValue(executorch::aten::Tensor value) : tag(Tag::Tensor) {
    new (&payload.as_tensor) executorch::aten::Tensor(std::move(value));
  }
  /* implicit */ EValue(executorch::aten::ArrayRef<char>* value) : tag(Tag::String) {
    payload.copyable_union.as_string_ptr = not_null(value);
  }
  /* implicit */ EValue(executorch::aten::ArrayRef<double>* value) : tag(Tag::ListDouble) {
    payload.copyable_union.as_double_list_ptr = not_null(value);
  }
  /* implicit */ EValue(executorch::aten::ArrayRef<bool>* value) : tag(Tag::ListBool) {
    payload.copyable_union.as_bool_list_ptr = not_null(value);
  }
  /* implicit */ EValue(BoxedEvalueList<int64_t>* value) : tag(Tag::ListInt) {
    payload.copyable_union.as_int_list_ptr = not_null(value);
  }
  /* implicit */ EValue(BoxedEvalueList<executorch::aten::Tensor>* value) : tag(Tag::ListTensor) {
    payload.copyable_union.as_tensor_list_ptr = not_null(value);
  }
  /* implicit */ EValue(BoxedEvalueList<std::optional<executorch::aten::Tensor>>* value)
      : tag(Tag::ListOptionalTensor) {
    payload.copyable_union.as_list_optional_tensor_ptr = not_null(value);
  }
  /// From a smart pointer to a type that EValue accepts, such as a TensorPtr. Must not be null.
  template <typename T, typename = std::enable_if_t<
                            !std::is_pointer_v<std::remove_reference_t<T>> &&
                            std::is_convertible_v<decltype(*std::declval<T&>()), EValue>>>
  /* implicit */ EValue(T&& pointer) : EValue() {
    ET_CHECK_MSG(pointer != nullptr, "Pointer is null");
    *this = EValue(*pointer);
  }
  /// Deleted: a raw pointer must not convert to bool.
  template <typename T>
  explicit EValue(T* value) = delete;

#ifdef USE_ATEN_LIB
  EValue(const EValue& other) : EValue() { copy_from(other); }
  EValue(EValue&& other) noexcept : EValue() { copy_from(other); }
  EValue& operator=(const EValue& other) {
    if (this != &other) {
      destroy();
      copy_from(other);
    }
    return *this;
  }
  EValue& operator=(EValue&& other) noexcept { return *this = static_cast<const EValue&>(other); }
  ~EValue() { destroy(); }
#endif

  bool isNone() const { return tag == Tag::None; }
  bool isInt() const { return tag == Tag::Int; }
  bool isDouble() const { return tag == Tag::Double; }
  bool isBool() const { return tag == Tag::Bool; }
  bool isScalar() const { return isInt() || isDouble() || isBool(); }
  bool isTensor() const { return tag == Tag::Tensor; }
  bool isString() const { return tag == Tag::String; }
  bool isIntList() const { return tag == Tag::ListInt; }
  bool isBoolList() const { return tag == Tag::ListBool; }
  bool isDoubleList() const { return tag == Tag::ListDouble; }
  bool isTensorList() const { return tag == Tag::ListTensor; }
  bool isListOptionalTensor() const { return tag == Tag::ListOptionalTensor; }

  int64_t toInt() const { return expect(Tag::Int).as_int; }
  double toDouble() const { return expect(Tag::Double).as_double; }
  bool toBool() const { return expect(Tag::Bool).as_bool; }
  executorch::aten::Scalar toScalar() const {
    return isDouble() ? executorch::aten::Scalar(toDouble())
           : isBool() ? executorch::aten::Scalar(toBool())
                      : executorch::aten::Scalar(toInt());
  }
  executorch::aten::Tensor toTensor() && {
    expect(Tag::Tensor);
    return payload.as_tensor;
  }
  executorch::aten::Tensor& toTensor() & {
    expect(Tag::Tensor);
    return payload.as_tensor;
  }
  const executorch::aten::Tensor& toTensor() const& {
    expect(Tag::Tensor);
    return payload.as_tensor;
  }
  /// The view is valid as long as the program.
  std::string_view toString() const {
    const executorch::aten::ArrayRef<char>& text = *expect_reference(Tag::String).as_string_ptr;
    return {text.data(), text.size()};
  }
  executorch::aten::ArrayRef<bool> toBoolList() const {
    return *expect_reference(Tag::ListBool).as_bool_list_ptr;
  }
  executorch::aten::ArrayRef<double> toDoubleList() const {
    return *expect_reference(Tag::ListDouble).as_double_list_ptr;
  }
  /// The lists' views are valid until the list is read again; see BoxedEvalueList::get().
  executorch::aten::ArrayRef<int64_t> toIntList() const {
    return expect_reference(Tag::ListInt).as_int_list_ptr->get();
  }
  executorch::aten::ArrayRef<executorch::aten::Tensor> toTensorList() const {
    return expect_reference(Tag::ListTensor).as_tensor_list_ptr->get();
  }
  executorch::aten::ArrayRef<std::optional<executorch::aten::Tensor>> toListOptionalTensor() const {
    return expect_reference(Tag::ListOptionalTensor).as_list_optional_tensor_ptr->get();
  }

  // Programs store enumerations as Int. The number may be outside the enumerators.
  executorch::aten::ScalarType toScalarType() const {
    return static_cast<executorch::aten::ScalarType>(toInt());
  }
  executorch::aten::MemoryFormat toMemoryFormat() const {
    return static_cast<executorch::aten::MemoryFormat>(toInt());
  }
  executorch::aten::Layout toLayout() const {
    return static_cast<executorch::aten::Layout>(toInt());
  }
  executorch::aten::Device toDevice() const {
    return executorch::aten::Device(static_cast<executorch::aten::DeviceType>(toInt()), -1);
  }

  Result<int64_t> tryToInt() const { return tryTo<int64_t>(); }
  Result<double> tryToDouble() const { return tryTo<double>(); }
  Result<bool> tryToBool() const { return tryTo<bool>(); }
  Result<executorch::aten::Scalar> tryToScalar() const { return tryTo<executorch::aten::Scalar>(); }
  Result<executorch::aten::Tensor> tryToTensor() const { return tryTo<executorch::aten::Tensor>(); }
  Result<std::string_view> tryToString() const { return tryTo<std::string_view>(); }
  Result<executorch::aten::ArrayRef<int64_t>> tryToIntList() const {
    return tryTo<executorch::aten::ArrayRef<int64_t>>();
  }
  Result<executorch::aten::ArrayRef<bool>> tryToBoolList() const {
    return tryTo<executorch::aten::ArrayRef<bool>>();
  }
  Result<executorch::aten::ArrayRef<double>> tryToDoubleList() const {
    return tryTo<executorch::aten::ArrayRef<double>>();
  }
  Result<executorch::aten::ArrayRef<executorch::aten::Tensor>> tryToTensorList() const {
    return tryTo<executorch::aten::ArrayRef<executorch::aten::Tensor>>();
  }
  Result<executorch::aten::ArrayRef<std::optional<executorch::aten::Tensor>>>
  tryToListOptionalTensor() const {
    return tryTo<executorch::aten::ArrayRef<std::optional<executorch::aten::Tensor>>>();
  }
  Result<executorch::aten::ScalarType> tryToScalarType() const {
    return tryTo<executorch::aten::ScalarType>();
  }
  Result<executorch::aten::MemoryFormat> tryToMemoryFormat() const {
    return tryTo<executorch::aten::MemoryFormat>();
  }
  Result<executorch::aten::Layout> tryToLayout() const { return tryTo<executorch::aten::Layout>(); }
  Result<executorch::aten::Device> tryToDevice() const { return tryTo<executorch::aten::Device>(); }

  /// The value as a T: int64_t, double, bool, Scalar, Tensor, std::string_view, ScalarType,
  /// MemoryFormat, Layout, Device, ArrayRef of int64_t, bool, double, Tensor or optional<Tensor>,
  /// or std::optional of one of these (None is std::nullopt).
  template <typename T>
  T to() && {
    return read<T>(*this);
  }
  template <typename T>
  internal::evalue_to_return<T, const executorch::aten::Tensor&> to() const& {
    return read<T>(*this);
  }
  template <typename T>
  internal::evalue_to_return<T, executorch::aten::Tensor&> to() & {
    return read<T>(*this);
  }

  template <typename T>
  Result<T> tryTo() const {
    if (is_reference() && payload.copyable_union.as_string_ptr == nullptr) {
      return Error::InvalidState;
    }
    if constexpr (std::is_same_v<T, executorch::aten::ArrayRef<int64_t>>) {
      return isIntList() ? payload.copyable_union.as_int_list_ptr->tryGet()
                         : Result<T>(Error::InvalidType);
    } else if constexpr (std::is_same_v<T, executorch::aten::ArrayRef<executorch::aten::Tensor>>) {
      return isTensorList() ? payload.copyable_union.as_tensor_list_ptr->tryGet()
                            : Result<T>(Error::InvalidType);
    } else if constexpr (std::is_same_v<T, executorch::aten::ArrayRef<
                                               std::optional<executorch::aten::Tensor>>>) {
      return isListOptionalTensor() ? payload.copyable_union.as_list_optional_tensor_ptr->tryGet()
                                    : Result<T>(Error::InvalidType);
    } else {
      return is<T>() ? Result<T>(read<T>(*this)) : Result<T>(Error::InvalidType);
    }
  }

  template <typename T>
  std::optional<T> toOptional() const {
    return isNone() ? std::optional<T>() : std::optional<T>(to<T>());
  }
  template <typename T>
  Result<std::optional<T>> tryToOptional() const {
    if (isNone()) {
      return std::optional<T>();
    }
    return std::optional<T>(ET_UNWRAP(tryTo<T>()));
  }

 private:
  template <typename T>
  static T* not_null(T* pointer) {
    ET_CHECK_MSG(pointer != nullptr, "EValue: pointer cannot be null");
    return pointer;
  }

  /// Returns whether the payload points to a string or a list.
  bool is_reference() const {
    return isString() || isIntList() || isBoolList() || isDoubleList() || isTensorList() ||
           isListOptionalTensor();
  }

  // Out of line, because every accessor would repeat the message.
  const Payload::TriviallyCopyablePayload& expect(Tag expected) const {
    if (ET_UNLIKELY(tag != expected)) {
      abort_wrong_tag(expected);
    }
    return payload.copyable_union;
  }
  // Checks the tag and the pointer, for payloads that are pointers.
  const Payload::TriviallyCopyablePayload& expect_reference(Tag expected) const {
    if (ET_UNLIKELY(tag != expected || payload.copyable_union.as_string_ptr == nullptr)) {
      abort_wrong_tag(expected);
    }
    return payload.copyable_union;
  }
  ET_NORETURN ET_COLD void abort_wrong_tag(Tag expected) const;

  template <typename T>
  bool is() const;
  template <typename T, typename Self>
  static decltype(auto) read(Self& self);

#ifdef USE_ATEN_LIB
  void copy_from(const EValue& other) {
    if (other.isTensor()) {
      new (&payload.as_tensor) executorch::aten::Tensor(other.payload.as_tensor);
    } else {
      payload.copyable_union = other.payload.copyable_union;
    }
    tag = other.tag;
  }
  void destroy() {
    if (isTensor()) {
      payload.as_tensor.~Tensor();
      tag = Tag::None;
    }
  }
#endif
};

template <typename T>
bool EValue::is() const {
  namespace et = executorch::aten;
  if constexpr (std::is_same_v<T, double>) {
    return isDouble();
  } else if constexpr (std::is_same_v<T, bool>) {
    return isBool();
  } else if constexpr (std::is_same_v<T, et::Scalar>) {
    return isScalar();
  } else if constexpr (std::is_same_v<T, et::Tensor>) {
    return isTensor();
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return isString();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<bool>>) {
    return isBoolList();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<double>>) {
    return isDoubleList();
  } else if constexpr (internal::is_optional<T>::value) {
    return isNone() || is<typename T::value_type>();
  } else {
    static_assert(std::is_same_v<T, int64_t> || std::is_enum_v<T> || std::is_same_v<T, et::Device>,
                  "no value of a program is of this type");
    return isInt();
  }
}

template <typename T, typename Self>
decltype(auto) EValue::read(Self& self) {
  namespace et = executorch::aten;
  if constexpr (std::is_same_v<T, int64_t>) {
    return self.toInt();
  } else if constexpr (std::is_same_v<T, double>) {
    return self.toDouble();
  } else if constexpr (std::is_same_v<T, bool>) {
    return self.toBool();
  } else if constexpr (std::is_same_v<T, et::Scalar>) {
    return self.toScalar();
  } else if constexpr (std::is_same_v<T, et::Tensor>) {
    return self.toTensor();
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return self.toString();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<bool>>) {
    return self.toBoolList();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<double>>) {
    return self.toDoubleList();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<int64_t>>) {
    return self.toIntList();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<et::Tensor>>) {
    return self.toTensorList();
  } else if constexpr (std::is_same_v<T, et::ArrayRef<std::optional<et::Tensor>>>) {
    return self.toListOptionalTensor();
  } else if constexpr (std::is_same_v<T, et::Device>) {
    return self.toDevice();
  } else if constexpr (internal::is_optional<T>::value) {
    return self.template toOptional<typename T::value_type>();
  } else {
    static_assert(std::is_enum_v<T>, "no value of a program is of this type");
    return static_cast<T>(self.toInt());
  }
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::BoxedEvalueList;
using ::executorch::runtime::EValue;
}  // namespace torch::executor
