// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/interpreter/sealed_types.h>

#include <string>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s: the runtime makes objects of this type, Python cannot",
               type->tp_name);
  return nullptr;
}

/// Equals pybind11's tp_new. Only `type(T).__call__` uses it: because it is another function than
/// that of the base, Python refuses `base.__new__(T)`.
PyObject* make_new(PyTypeObject* type, PyObject*, PyObject*) {
  return py::detail::make_new_instance(type);
}

bool has_constructor(py::handle type) {
  return py::cast<py::dict>(type.attr("__dict__").attr("copy")()).contains("__init__");
}

void seal(py::handle type_object) {
  auto* const type = reinterpret_cast<PyTypeObject*>(type_object.ptr());
  const bool is_constructible = has_constructor(type_object);
  const std::string name = py::str(type_object.attr("__name__"));
  const std::string refusal =
      is_constructible ? name + ".__new__() makes no usable object: call " + name + "()"
                       : name + ": the runtime makes objects of this type, Python cannot";
  const auto refuse = [refusal](const py::args&, const py::kwargs&) -> py::object {
    throw py::type_error(refusal);
  };
  const auto make_static =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyStaticMethod_Type));
  py::setattr(type_object, "__new__", make_static(py::cpp_function(refuse, py::name("__new__"))));
  // Setting the attribute `__new__` sets the slot as well, so the slot comes second.
  type->tp_new = is_constructible ? make_new : refuse_new;
  if (is_constructible) {
    type->tp_flags &= ~static_cast<unsigned long>(Py_TPFLAGS_BASETYPE);
  }
  type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
  PyType_Modified(type);
}

}  // namespace

void seal_types(py::module_& module) {
  const py::handle metaclass(
      reinterpret_cast<PyObject*>(py::detail::get_internals().default_metaclass));
  for (const auto& [name, value] : module.attr("__dict__").cast<py::dict>()) {
    (void)name;
    if (py::isinstance(value, metaclass)) {
      seal(value);
    }
  }
}

}  // namespace executorch::extension::pybindings
