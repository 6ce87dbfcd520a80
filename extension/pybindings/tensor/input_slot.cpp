// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/tensor/input_slot.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using runtime::EValue;
using runtime::Tag;

struct TagName {
  Tag tag;
  const char* name;
};

constexpr TagName kTagNames[] = {
    {Tag::None, "None"},      {Tag::Tensor, "a tensor"}, {Tag::String, "a str"},
    {Tag::Double, "a float"}, {Tag::Int, "an int"},      {Tag::Bool, "a bool"},
};

/// With `unbounded`, a size of 0 means any size.
template <typename Sizes>
std::string in_brackets(const Sizes& sizes, size_t rank, bool unbounded) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) {
    text += i == 0 ? "" : ", ";
    text += unbounded && sizes[i] == 0 ? "any" : std::to_string(sizes[i]);
  }
  return text + "]";
}

std::string type_name_of(py::handle object) {
  return py::str(py::type::handle_of(object).attr("__qualname__"));
}

[[noreturn]] void refuse(runtime::Error error, const ArgumentPlace& place,
                         const std::string& expected, const std::string& found) {
  raise_error(error, place.text() + ": expected " + expected + ", found " + found);
}

/// Returns a number in Python's notation, or "" for other values.
std::string text_of(const EValue& value) {
  switch (value.tag) {
    case Tag::Int:
      return py::repr(py::int_(value.toInt()));
    case Tag::Double:
      return py::repr(py::float_(value.toDouble()));
    case Tag::Bool:
      return py::repr(py::bool_(value.toBool()));
    default:
      return "";
  }
}

/// True if the object is a Python bool or a numpy bool, which are unrelated types.
bool is_bool(py::handle object) {
  if (PyBool_Check(object.ptr())) {
    return true;
  }
  const std::string name = Py_TYPE(object.ptr())->tp_name;
  return name == "numpy.bool" || name == "numpy.bool_";
}

/// True if converting the object runs no Python code.
bool is_plain_scalar(py::handle object) {
  return object.is_none() || PyBool_Check(object.ptr()) || PyLong_CheckExact(object.ptr()) ||
         PyFloat_CheckExact(object.ptr()) || PyUnicode_CheckExact(object.ptr());
}

bool truth_of(py::handle object, const ArgumentPlace& place) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) {
    raise_from_python(place.text() + " is not a bool");
  }
  return truth != 0;
}

/// True if the bytes after the memory are readable: delegates may load whole vectors.
bool may_be_read_beyond(const uint8_t* data, size_t bytes) {
  constexpr uintptr_t kPage = 4096, kMaxBeyond = 256;
  return (reinterpret_cast<uintptr_t>(data) + bytes - 1) % kPage + kMaxBeyond < kPage;
}

}  // namespace

InputSlot::InputSlot(const runtime::MethodMeta& meta, size_t index, const EValue& unset) {
  const auto tag = meta.input_tag(index);
  if (!tag.ok()) {
    raise_error(tag.error(), std::string("cannot describe input ") + std::to_string(index) +
                                 " of the method '" + meta.name() + "'");
  }
  tag_ = *tag;
  if (tag_ != Tag::Tensor) {
    constant_ = text_of(unset);
    return;
  }
  const auto info = meta.input_tensor_meta(index);
  if (!info.ok()) {
    raise_error(info.error(), std::string("cannot describe input ") + std::to_string(index) +
                                  " of the method '" + meta.name() + "'");
  }
  type_ = element_type(info->scalar_type());
  type_name_ = element_type_name(info->scalar_type());
  is_planned_ = info->is_memory_planned();
  is_dynamic_ = unset.isTensor() && runtime::may_resize(unset.toTensor());
  is_unbounded_ = info->is_unbounded();
  rank_ = info->sizes().size();
  for (size_t i = 0; i < rank_; ++i) {
    largest_sizes_[i] = info->sizes()[i];
    largest_count_ *= largest_sizes_[i];
    dim_order_[i] = info->dim_order()[i];
  }
}

std::string InputSlot::expected() const {
  if (tag_ == Tag::Tensor) {
    return "a " + type_name_ + " tensor " + (is_dynamic_ ? "of at most " : "") +
           in_brackets(largest_sizes_, rank_, is_unbounded_);
  }
  for (const TagName& row : kTagNames) {
    if (row.tag == tag_) {
      return constant_.empty() ? row.name : row.name + (" of " + constant_);
    }
  }
  return "a list";
}

std::string InputSlot::found() const {
  if (view_.type != nullptr) {
    return "a " + view_.describe();
  }
  if (!object_) {
    return "nothing";
  }
  return constant_.empty() ? type_name_of(object_)
                           : type_name_of(object_) + " " + std::string(py::repr(object_));
}

EValue InputSlot::read(py::handle object, const ArgumentPlace& place, OutputKind& kind,
                       bool lends_planned) {
  object_ = py::reinterpret_borrow<py::object>(object);
  view_.type = nullptr;
  may_have_run_code_ = !is_plain_scalar(object);
  if (tag_ == Tag::Tensor) {
    const TensorType type = tensor_type(Py_TYPE(object.ptr()));
    tensor_type_ = type;
    may_have_run_code_ = may_have_run_code_ && !type.is_plain;
    if (type.access == TensorAccess::None && rank_ == 0 && is_number(object)) {
      return number_value(place);
    }
    if (type.access == TensorAccess::None) {
      refuse(runtime::Error::InvalidType, place, expected(), type_name_of(object));
    }
    kind.record_input(object, type);
    view_ = view_tensor(object, type, place, keep_alive_);
    return tensor_value(place, lends_planned);
  }
  return scalar_value(place);
}

void InputSlot::expect_same_memory(const ArgumentPlace& place) const {
  if (!is_lent_ || !object_) {
    return;
  }
  const std::optional<StridedView> now =
      view_again(keep_alive_ ? keep_alive_ : object_, tensor_type_, place);
  if (now.has_value() &&
      (now->type != view_.type || now->rank != view_.rank || now->data != view_.data ||
       !std::equal(view_.sizes.begin(), view_.sizes.begin() + rank_, now->sizes.begin()))) {
    raise_error(runtime::Error::InvalidArgument,
                place.text() + ": expected the memory of " + view_.describe() +
                    " as it was when it was set, found the " + now->describe() +
                    " changed or in other memory");
  }
}

bool InputSlot::is_number(py::handle object) const {
  if (type_ == nullptr) {
    return false;  // an element type that Python does not have
  }
  switch (type_->type) {
    case executorch::aten::ScalarType::Bool:
      return is_bool(object);
    case executorch::aten::ScalarType::Long:
      return PyLong_Check(object.ptr()) && !is_bool(object);
    case executorch::aten::ScalarType::Double:
      return PyFloat_Check(object.ptr());
    default:
      return false;
  }
}

EValue InputSlot::number_value(const ArgumentPlace& place) {
  copy_.resize(type_->size);
  switch (type_->type) {
    case executorch::aten::ScalarType::Bool:
      copy_[0] = truth_of(object_, place) ? 1 : 0;
      break;
    case executorch::aten::ScalarType::Long: {
      int overflow = 0;
      const int64_t number = PyLong_AsLongLongAndOverflow(object_.ptr(), &overflow);
      if (overflow != 0) {
        refuse(runtime::Error::InvalidArgument, place, "an int of 64 bits", py::repr(object_));
      }
      std::memcpy(copy_.data(), &number, sizeof(number));
      break;
    }
    default: {
      const double number = PyFloat_AsDouble(object_.ptr());
      std::memcpy(copy_.data(), &number, sizeof(number));
    }
  }
  is_lent_ = false;
  return tensor_over(copy_.data(), 0, copy_.size());
}

EValue InputSlot::tensor_over(const uint8_t* data, size_t rank, size_t bytes) {
  ET_RUNTIME_NAMESPACE::internal::describe_tensor(type_->type, rank, sizes_.data(),
                                                  dim_order_.data(), strides_.data(),
                                                  const_cast<uint8_t*>(data), bytes, &tensor_);
  return EValue(ET_RUNTIME_NAMESPACE::internal::tensor_in(*tensor_));
}

EValue InputSlot::tensor_value(const ArgumentPlace& place, bool lends_planned) {
  if (type_ != view_.type || view_.rank != rank_) {
    refuse(runtime::Error::InvalidArgument, place, expected(), found());
  }
  const std::optional<size_t> counted = view_.checked_bytes();
  if (!counted ||
      (static_cast<int64_t>(*counted / type_->size) > largest_count_ && !is_unbounded_)) {
    refuse(runtime::Error::InvalidArgument, place, expected(), found());
  }
  for (size_t i = 0; i < rank_; ++i) {
    sizes_[i] = static_cast<executorch::aten::SizesType>(view_.sizes[i]);
  }
  if (!runtime::dim_order_to_stride_nocheck(sizes_.data(), dim_order_.data(), rank_,
                                            strides_.data())) {
    refuse(runtime::Error::InvalidArgument, place, expected(), found());
  }
  const size_t bytes = *counted;
  // A program may update its inputs in place, so it must not use read-only memory.
  is_lent_ = (!is_planned_ || (lends_planned && may_be_read_beyond(view_.data, bytes))) &&
             !view_.read_only && is_dense(view_, dim_order_.data());
  const uint8_t* data = view_.data;
  if (!is_lent_ && (!is_planned_ || !is_dense(view_, dim_order_.data()))) {
    copy_.resize(bytes);
    copy_dense(view_, dim_order_.data(), copy_.data());
    data = copy_.data();
  }
  return tensor_over(data, rank_, bytes);
}

EValue InputSlot::scalar_value(const ArgumentPlace& place) {
  PyObject* const object = object_.ptr();
  if (tag_ == Tag::None && object_.is_none()) {
    return EValue();
  }
  if (tag_ == Tag::Bool && is_bool(object_)) {
    return EValue(truth_of(object_, place));
  }
  if (tag_ == Tag::Int && PyIndex_Check(object) != 0 && !is_bool(object_)) {
    const py::object integer = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    int overflow = 0;
    const int64_t value = integer ? PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow) : -1;
    if (overflow != 0) {
      refuse(runtime::Error::InvalidArgument, place, "an int of 64 bits", py::repr(object_));
    }
    if (PyErr_Occurred() == nullptr) {
      return EValue(value);
    }
    raise_from_python(place.text() + " is not an int");
  }
  if (tag_ == Tag::Double && PyNumber_Check(object) != 0 && !is_bool(object_)) {
    const double value = PyFloat_AsDouble(object);
    if (PyErr_Occurred() != nullptr) {
      raise_from_python(place.text() + " is not a float");
    }
    return EValue(value);
  }
  if (tag_ == Tag::String && PyUnicode_Check(object)) {
    ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) {
      raise_from_python(place.text() + " has no UTF-8 form");
    }
    text_.emplace(const_cast<char*>(text), static_cast<size_t>(size));
    return EValue(&*text_);
  }
  refuse(runtime::Error::InvalidType, place, expected(), found());
}

}  // namespace executorch::extension::pybindings
