// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Outputs of a method as Python objects.
#include <executorch/extension/pybindings/program/loaded_method.h>

#include <algorithm>

#include <executorch/extension/pybindings/interpreter/python_text.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using runtime::Error;
using runtime::EValue;
using runtime::Tag;

namespace {

template <typename Items, typename Convert>
py::list list_of(const Items& items, Convert&& convert) {
  py::list list;
  for (const auto& item : items) {
    list.append(convert(item));
  }
  return list;
}

}  // namespace

py::list LoadedMethod::collect_outputs(OutputMode mode) {
  const size_t count = method_->outputs_size();
  py::list outputs(count);
  for (size_t i = 0; i < count; ++i) {
    PyList_SET_ITEM(outputs.ptr(), static_cast<ssize_t>(i),
                    to_python(method_->get_output(i), mode).release().ptr());
  }
  return outputs;
}

py::object LoadedMethod::to_python(const EValue& value, OutputMode mode) {
  const auto convert_tensor = [&](const executorch::aten::Tensor& tensor) {
    return tensor_to_python(tensor, mode);
  };
  switch (value.tag) {
    case Tag::Tensor:
      return convert_tensor(value.toTensor());
    case Tag::None:
      return py::none();
    case Tag::Int:
      return py::int_(value.toInt());
    case Tag::Double:
      return py::float_(value.toDouble());
    case Tag::Bool:
      return py::bool_(value.toBool());
    case Tag::String:
      return python_text(value.toString());
    case Tag::ListInt:
      return list_of(value.toIntList(), [](int64_t item) { return py::int_(item); });
    case Tag::ListDouble:
      return list_of(value.toDoubleList(), [](double item) { return py::float_(item); });
    case Tag::ListBool:
      return list_of(value.toBoolList(), [](bool item) { return py::bool_(item); });
    case Tag::ListTensor:
      return list_of(value.toTensorList(), convert_tensor);
    case Tag::ListOptionalTensor:
      return list_of(value.toListOptionalTensor(), [&](const auto& item) -> py::object {
        return item.has_value() ? convert_tensor(*item) : py::none();
      });
    default:
      raise_error(Error::NotSupported, name_ + "(): an output is of a kind unknown to Python");
  }
}

py::object LoadedMethod::tensor_to_python(const executorch::aten::Tensor& tensor, OutputMode mode) {
  StridedView view;
  view.type = element_type(tensor.scalar_type());
  if (view.type == nullptr) {
    raise_error(Error::NotSupported, name_ + "(): an output is a tensor of " +
                                         element_type_name(tensor.scalar_type()) +
                                         ", which no Python tensor can hold");
  }
  view.data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  view.rank = static_cast<size_t>(tensor.dim());
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), view.sizes.begin());
  uint8_t dim_order[kMaxRank];
  if (runtime::get_dim_order(tensor, dim_order, view.rank) != Error::Ok) {
    raise_error(Error::Internal, name_ + "(): an output tensor has no dim order");
  }
  set_dense_strides(view, dim_order);
  if (view.data == nullptr && view.count() != 0) {
    raise_error(Error::InvalidState,
                name_ + "(): a tensor without memory: it shows an input, which the call released");
  }
  for (const LargeOutput& output : large_outputs_) {
    if (mode != OutputMode::Copy && output.memory != nullptr && output.memory.get() == view.data) {
      return output_kind_.make_view(SharedTensor{view, output.memory});
    }
  }
  // A view may refer to the method's memory, which it keeps alive: not to an input's memory, nor to
  // memory that the next call frees, nor to constants, which Python must not change.
  bool is_own = memory_->plans(view.data);
  for (size_t i = 0; !is_own && i < output_blocks_.size(); ++i) {
    is_own = output_blocks_[i].bytes().data() == view.data;
  }
  if (!is_own) {
    expect_same_inputs();
  }
  const bool clone = mode != OutputMode::View || !is_own;
  return clone ? output_kind_.make_copy(view)
               : output_kind_.make_view(SharedTensor{view, shared_from_this()});
}

}  // namespace executorch::extension::pybindings
