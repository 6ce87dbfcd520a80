// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/metadata.h>

#include <pybind11/stl.h>

#include <vector>

#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/python_text.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/tensor/element_types.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using runtime::MethodMeta;
using runtime::Result;

/// The Python class TensorInfo. It does not refer to its program.
struct TensorDescription {
  std::vector<int32_t> sizes;
  std::vector<int> dim_order;
  executorch::aten::ScalarType type;
  bool is_memory_planned;
  size_t nbytes;
  std::string name;

  explicit TensorDescription(const runtime::TensorInfo& info)
      : sizes(info.sizes().begin(), info.sizes().end()),
        dim_order(info.dim_order().begin(), info.dim_order().end()),
        type(info.scalar_type()),
        is_memory_planned(info.is_memory_planned()),
        nbytes(info.nbytes()),
        name(info.name()) {}

  std::string text() const {
    std::string sizes_text;
    for (const int32_t size : sizes) {
      sizes_text += (sizes_text.empty() ? "" : ", ") + std::to_string(size);
    }
    return "TensorInfo(sizes=[" + sizes_text + "], dtype=" + runtime::toString(type) +
           ", is_memory_planned=" + (is_memory_planned ? "True" : "False") +
           ", nbytes=" + std::to_string(nbytes) + ")";
  }
};

std::string tag_name(const Result<runtime::Tag>& tag) {
  char name[runtime::kTagNameBufferSize] = "unknown";
  if (tag.ok()) {
    runtime::tag_to_string(*tag, name, sizeof(name));
  }
  return name;
}

/// One of the three lists of tensors that a method has.
struct TensorList {
  const char* what;
  size_t (MethodMeta::*count)() const;
  Result<runtime::TensorInfo> (MethodMeta::*get)(size_t index) const;
  Result<runtime::Tag> (MethodMeta::*tag)(size_t index) const;

  TensorDescription at(const MethodDescription& method, size_t index) const {
    const MethodMeta& meta = method.meta;
    const LogCapture capture;
    if (index >= (meta.*count)()) {
      throw py::index_error(std::string(meta.name()) + "() has " + std::to_string((meta.*count)()) +
                            " " + what + "s, not number " + std::to_string(index));
    }
    const Result<runtime::TensorInfo> info = (meta.*get)(index);
    if (!info.ok()) {
      raise_error(info.error(), std::string(meta.name()) + "(): " + what + " " +
                                    std::to_string(index) + " is not a tensor");
    }
    return TensorDescription(*info);
  }

  std::string text(const MethodDescription& method) const {
    std::string list;
    for (size_t i = 0; i < (method.meta.*count)(); ++i) {
      const Result<runtime::Tag> kind = (method.meta.*tag)(i);
      const bool is_tensor = kind.ok() && *kind == runtime::Tag::Tensor;
      list += (i == 0 ? "'" : ", '") + (is_tensor ? at(method, i).text() : tag_name(kind)) + "'";
    }
    return "[" + list + "]";
  }
};

constexpr TensorList kInputs = {"input", &MethodMeta::num_inputs, &MethodMeta::input_tensor_meta,
                                &MethodMeta::input_tag};
constexpr TensorList kOutputs = {"output", &MethodMeta::num_outputs,
                                 &MethodMeta::output_tensor_meta, &MethodMeta::output_tag};
constexpr TensorList kAttributes = {"attribute", &MethodMeta::num_attributes,
                                    &MethodMeta::attribute_tensor_meta, nullptr};

template <const TensorList& kList>
TensorDescription tensor_at(const MethodDescription& method, size_t index) {
  return kList.at(method, index);
}

template <auto kFunction>
auto query(const MethodDescription& method) {
  return (method.meta.*kFunction)();
}

py::str text_of(const MethodDescription& method) {
  return python_text(std::string("MethodMeta(name='") + method.meta.name() +
                     "', num_inputs=" + std::to_string(method.meta.num_inputs()) +
                     ", input_tensor_meta=" + kInputs.text(method) +
                     ", num_outputs=" + std::to_string(method.meta.num_outputs()) +
                     ", output_tensor_meta=" + kOutputs.text(method) + ")");
}

std::vector<int64_t> planned_buffer_sizes(const MethodDescription& method) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < method.meta.num_memory_planned_buffers(); ++i) {
    const Result<int64_t> size = method.meta.memory_planned_buffer_size(i);
    if (!size.ok()) {
      raise_error(size.error(), "cannot read the size of planned buffer " + std::to_string(i));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

py::list operators(const MethodDescription& method) {
  py::list names;
  for (size_t i = 0; i < method.meta.num_operators(); ++i) {
    const Result<runtime::OperatorName> name = method.meta.operator_name(i);
    if (!name.ok()) {
      raise_error(name.error(), "cannot read the name of operator " + std::to_string(i));
    }
    const std::string overload = name->overload;
    names.append(
        python_text(overload.empty() ? name->name : std::string(name->name) + "." + overload));
  }
  return names;
}

py::list backends(const MethodDescription& method) {
  py::list names;
  for (size_t i = 0; i < method.meta.num_backends(); ++i) {
    const Result<const char*> name = method.meta.get_backend_name(i);
    if (!name.ok()) {
      raise_error(name.error(), "cannot read the name of delegate " + std::to_string(i));
    }
    names.append(python_text(*name));
  }
  return names;
}

}  // namespace

MethodDescription describe_method(std::shared_ptr<LoadedProgram> program, const std::string& name) {
  const MethodMeta meta = program->method_meta(name);
  return {std::move(program), meta};
}

void bind_metadata(py::module_& module) {
  py::class_<TensorDescription>(module, "TensorInfo", py::module_local(),
                                "Metadata of an input, output or attribute tensor.")
      .def(
          "sizes", [](const TensorDescription& self) { return py::tuple(py::cast(self.sizes)); },
          "The sizes, outermost first; those of a dynamic tensor are the largest it may have.")
      .def(
          "dim_order",
          [](const TensorDescription& self) { return py::tuple(py::cast(self.dim_order)); },
          "The dimensions from the outermost in memory to the innermost.")
      .def(
          "dtype", [](const TensorDescription& self) { return static_cast<int>(self.type); },
          "The element type's number, as in ScalarType.")
      .def(
          "dtype_name", [](const TensorDescription& self) { return element_type_name(self.type); },
          "The element type's name, for instance 'float32'.")
      .def(
          "is_memory_planned", [](const TensorDescription& self) { return self.is_memory_planned; },
          "True if the program planned memory for the tensor.")
      .def(
          "nbytes", [](const TensorDescription& self) { return self.nbytes; },
          "Bytes at the sizes above.")
      .def(
          "name", [](const TensorDescription& self) { return python_text(self.name); },
          "The name of the parameter or buffer that the tensor is, or ''.")
      .def("__repr__", &TensorDescription::text);

  py::class_<MethodDescription>(module, "MethodMeta", py::module_local(),
                                "Metadata of a method, which need not be loaded.")
      .def(
          "name", [](const MethodDescription& self) { return python_text(self.meta.name()); },
          "The method's name.")
      .def("num_inputs", query<&MethodMeta::num_inputs>, "The number of inputs.")
      .def("num_outputs", query<&MethodMeta::num_outputs>, "The number of outputs.")
      .def("num_attributes", query<&MethodMeta::num_attributes>, "The number of named tensors.")
      .def("input_tensor_meta", tensor_at<kInputs>, py::arg("index"),
           "The input's TensorInfo; IndexError if there is none of that index.")
      .def("output_tensor_meta", tensor_at<kOutputs>, py::arg("index"),
           "The output's TensorInfo; IndexError if there is none of that index.")
      .def("attribute_tensor_meta", tensor_at<kAttributes>, py::arg("index"),
           "The named tensor's TensorInfo; IndexError if there is none of that index.")
      .def("memory_planned_buffer_sizes", planned_buffer_sizes,
           "The bytes of each buffer that tensors are planned into.")
      .def("method_allocator_size", query<&MethodMeta::method_allocator_size>,
           "The bytes that the loaded method takes for itself; delegates take theirs in addition.")
      .def("num_instructions", query<&MethodMeta::num_instructions>, "The number of instructions.")
      .def("operators", operators, "The names of the operators it calls, as 'aten::add.out'.")
      .def("backends", backends, "The name of the backend of each of its delegates.")
      .def("__repr__", text_of);
}

}  // namespace executorch::extension::pybindings
