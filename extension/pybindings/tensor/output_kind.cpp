// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/tensor/output_kind.h>

#include <pybind11/numpy.h>

#include <cstring>
#include <vector>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

py::object imported_module(const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  return module == nullptr ? py::object(py::none()) : py::reinterpret_borrow<py::object>(module);
}

/// Returns numpy's dtype for the elements, or a null object if neither numpy nor an imported
/// package has one.
py::object numpy_dtype(const ElementTypeInfo& type) {
  if (type.numpy >= 0) {
    return py::dtype(type.numpy);
  }
  const py::object scalar = py::getattr(imported_module("ml_dtypes"), type.name, py::none());
  return scalar.is_none() ? scalar : py::dtype::from_args(scalar);
}

py::object empty_numpy_array(const StridedView& view, const py::object& dtype) {
  static_assert(sizeof(int64_t) == sizeof(Py_intptr_t), "sizes are passed without conversion");
  auto& api = py::detail::npy_api::get();
  const auto* sizes = reinterpret_cast<const Py_intptr_t*>(view.sizes.data());
  const auto* strides = reinterpret_cast<const Py_intptr_t*>(view.strides.data());
  PyObject* array =
      api.PyArray_NewFromDescr_(api.PyArray_Type_, dtype.inc_ref().ptr(),
                                static_cast<int>(view.rank), sizes, strides, nullptr, 0, nullptr);
  if (array == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(array);
}

py::object numpy_view(const SharedTensor& tensor, const py::object& dtype) {
  const StridedView& view = tensor.view;
  const py::capsule base(new std::shared_ptr<void>(tensor.owner),
                         [](void* owner) { delete static_cast<std::shared_ptr<void>*>(owner); });
  return py::array(py::reinterpret_borrow<py::dtype>(dtype),
                   std::vector<ssize_t>(view.sizes.begin(), view.sizes.begin() + view.rank),
                   std::vector<ssize_t>(view.strides.begin(), view.strides.begin() + view.rank),
                   view.data, base);
}

}  // namespace

void OutputKind::record_input(py::handle object, TensorType type) {
  if (kind_ != Kind::Unknown) {
    return;
  }
  kind_ = Kind::Numpy;
  if (type.access == TensorAccess::Exchange) {
    kind_ = Kind::Exchange;
    exchange_ = type.exchange;
  } else if (type.access == TensorAccess::Dlpack) {
    // The array API standard defines this attribute as the array's library.
    py::object library = py::none();
    if (py::hasattr(object, "__array_namespace__")) {
      library = object.attr("__array_namespace__")();
    } else if (py::str(py::type::of(object).attr("__module__")).equal(py::str("torch"))) {
      library = imported_module("torch");
    }
    from_dlpack_ = py::getattr(library, "from_dlpack", py::none());
    if (!from_dlpack_.is_none()) {
      kind_ = Kind::FromDlpack;
    }
  }
}

void OutputKind::decide_without_inputs() {
  kind_ = Kind::Numpy;
  const py::object torch_tensor = py::getattr(imported_module("torch"), "Tensor", py::none());
  if (PyType_Check(torch_tensor.ptr())) {
    const TensorType type = tensor_type(reinterpret_cast<PyTypeObject*>(torch_tensor.ptr()));
    if (type.access == TensorAccess::Exchange) {
      kind_ = Kind::Exchange;
      exchange_ = type.exchange;
    } else {
      kind_ = Kind::FromDlpack;
      from_dlpack_ = imported_module("torch").attr("from_dlpack");
    }
  }
}

py::object OutputKind::make_copy(const StridedView& view) {
  if (kind_ == Kind::Unknown) {
    decide_without_inputs();
  }
  if (kind_ == Kind::Numpy) {
    const py::object dtype = numpy_dtype(*view.type);
    if (!dtype.is_none()) {
      py::object array = empty_numpy_array(view, dtype);
      const size_t nbytes = static_cast<size_t>(view.count()) * view.type->size;
      if (nbytes != 0) {
        std::memcpy(py::detail::array_proxy(array.ptr())->data, view.data, nbytes);
      }
      return array;
    }
  }
  return make_view(copy_of(view));
}

py::object OutputKind::make_view(const SharedTensor& tensor) {
  if (kind_ == Kind::Unknown) {
    decide_without_inputs();
  }
  if (kind_ == Kind::Exchange) {
    void* object = nullptr;
    if (exchange_->from_managed(to_dlpack(tensor), &object) != 0) {
      throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(static_cast<PyObject*>(object));
  }
  if (kind_ == Kind::FromDlpack) {
    return from_dlpack_(py::cast(tensor));
  }
  const py::object dtype = numpy_dtype(*tensor.view.type);
  return dtype.is_none() ? py::cast(tensor) : numpy_view(tensor, dtype);
}

}  // namespace executorch::extension::pybindings
