// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/tensor/tensor_object.h>

#include <pybind11/numpy.h>

#include <vector>

#include <executorch/extension/pybindings/interpreter/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
constexpr const char* kExchangeCapsule = "dlpack_exchange_api";

[[noreturn]] void refuse(const ArgumentPlace& place, const std::string& why) {
  raise_error(runtime::Error::InvalidArgument, place.text() + " " + why);
}

bool is_numpy_array_type(PyTypeObject* type) {
  // If numpy is not imported, no object can be its array, and this check must not import it.
  static PyObject* const name = PyUnicode_InternFromString("numpy");
  PyObject* const modules = PyImport_GetModuleDict();
  if (PyDict_GetItemWithError(modules, name) == nullptr) {
    return false;
  }
  return PyType_IsSubtype(type, py::detail::npy_api::get().PyArray_Type_) != 0;
}

const dlpack::ExchangeApi* exchange_api(py::handle type) {
  const py::object capsule = py::getattr(type, kExchangeAttribute, py::none());
  if (PyCapsule_IsValid(capsule.ptr(), kExchangeCapsule) == 0) {
    return nullptr;
  }
  auto* api =
      static_cast<dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), kExchangeCapsule));
  while (api != nullptr && api->version.major > dlpack::kVersion.major) {
    api = api->previous;
  }
  return api != nullptr && api->version.major == dlpack::kVersion.major ? api : nullptr;
}

/// torch.Tensor, or null if torch is not imported.
py::object torch_tensor_type() {
  PyObject* const torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  const py::object type =
      torch == nullptr ? py::object() : py::getattr(py::handle(torch), "Tensor", py::none());
  return type && PyType_Check(type.ptr()) ? type : py::object();
}

TensorType inspect(PyTypeObject* type) {
  const py::handle type_object(reinterpret_cast<PyObject*>(type));
  if (is_numpy_array_type(type)) {
    return {TensorAccess::Numpy, nullptr, /*is_plain=*/true};
  }
  if (const dlpack::ExchangeApi* api = exchange_api(type_object)) {
    // Subclasses may replace is_neg().
    return {TensorAccess::Exchange, api,
            /*is_plain=*/type_object.is(torch_tensor_type()) && api->borrow != nullptr};
  }
  if (py::hasattr(type_object, "__dlpack__")) {
    return {TensorAccess::Dlpack};
  }
  const bool has_buffer =
      type->tp_as_buffer != nullptr && type->tp_as_buffer->bf_getbuffer != nullptr;
  return {has_buffer ? TensorAccess::Buffer : TensorAccess::None};
}

void set_rank(StridedView& view, int64_t rank, const ArgumentPlace& place) {
  if (rank < 0 || rank > static_cast<int64_t>(kMaxRank)) {
    refuse(place, "has " + std::to_string(rank) + " dimensions; at most " +
                      std::to_string(kMaxRank) + " are possible");
  }
  view.rank = static_cast<size_t>(rank);
}

const ElementTypeInfo* type_of_dtype(const py::dtype& dtype) {
  const ElementTypeInfo* type = element_type_of_numpy(dtype.num());
  if (type != nullptr) {
    return type;
  }
  // Types that packages add to numpy (ml_dtypes' bfloat16) are recognized by name. Any type can
  // have such a name, even one with elements of 0 bytes.
  type = element_type_named(py::str(dtype.attr("name")).cast<std::string>());
  return type != nullptr && dtype.itemsize() == type->size ? type : nullptr;
}

StridedView view_numpy(py::handle object, const ArgumentPlace& place) {
  const auto* array = py::detail::array_proxy(object.ptr());
  const auto dtype = py::reinterpret_borrow<py::dtype>(array->descr);
  StridedView view;
  view.type = type_of_dtype(dtype);
  const char order = dtype.byteorder();
  if (view.type == nullptr || order == '>') {
    refuse(place, "is an array of " + py::str(dtype).cast<std::string>() +
                      ", which tensors do not support");
  }
  set_rank(view, array->nd, place);
  view.data = reinterpret_cast<const uint8_t*>(array->data);
  view.read_only = (array->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) == 0;
  for (size_t i = 0; i < view.rank; ++i) {
    view.sizes[i] = array->dimensions[i];
    view.strides[i] = array->strides[i];
  }
  return view;
}

StridedView view_dlpack(const dlpack::Tensor& tensor, bool read_only, const ArgumentPlace& place) {
  if (tensor.device.type != dlpack::kDeviceCpu) {
    refuse(place, "is on DLPack device type " + std::to_string(tensor.device.type) +
                      "; only tensors in the CPU's memory are possible");
  }
  StridedView view;
  view.type = element_type(tensor.dtype);
  if (view.type == nullptr) {
    refuse(place, "has DLPack element type code " + std::to_string(tensor.dtype.code) + " of " +
                      std::to_string(tensor.dtype.bits) + " bits, which tensors do not support");
  }
  set_rank(view, tensor.ndim, place);
  if (view.rank > 0 && tensor.shape == nullptr) {
    refuse(place, "has " + std::to_string(view.rank) + " dimensions without sizes");
  }
  view.read_only = read_only;
  for (size_t i = 0; i < view.rank; ++i) {
    view.sizes[i] = tensor.shape[i];
  }
  if (tensor.data != nullptr) {
    view.data = static_cast<const uint8_t*>(tensor.data) + tensor.byte_offset;
  } else if (view.count() != 0) {
    refuse(place, "has no memory");
  }
  if (tensor.strides == nullptr) {
    static constexpr std::array<uint8_t, kMaxRank> kRowMajor = {0, 1, 2,  3,  4,  5,  6,  7,
                                                                8, 9, 10, 11, 12, 13, 14, 15};
    set_dense_strides(view, kRowMajor.data());
  } else {
    for (size_t i = 0; i < view.rank; ++i) {
      view.strides[i] = wrapping_product(tensor.strides[i], view.type->size);
    }
  }
  return view;
}

StridedView view_capsule(py::handle object, const ArgumentPlace& place, py::object& keep_alive) {
  const py::object method = py::getattr(object, "__dlpack__");
  PyObject* capsule = nullptr;
  {
    const py::tuple version = py::make_tuple(dlpack::kVersion.major, dlpack::kVersion.minor);
    const py::dict arguments = py::dict(py::arg("max_version") = version);
    capsule = PyObject_Call(method.ptr(), py::tuple().ptr(), arguments.ptr());
    if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      PyErr_Clear();  // a producer from before versions existed
      capsule = PyObject_CallNoArgs(method.ptr());
    }
  }
  if (capsule == nullptr) {
    raise_from_python(place.text() + " cannot be read through DLPack");
  }
  // Keep the capsule alive instead of consuming it: it owns the tensor.
  keep_alive = py::reinterpret_steal<py::object>(capsule);
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (managed->version.major != dlpack::kVersion.major) {
      refuse(place, "offers DLPack version " + std::to_string(managed->version.major));
    }
    return view_dlpack(managed->tensor, (managed->flags & dlpack::kReadOnly) != 0, place);
  }
  if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    const auto* managed =
        static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    return view_dlpack(managed->tensor, false, place);
  }
  refuse(place, "returns no DLPack capsule from __dlpack__()");
}

/// True if the object is a torch tensor with the negative bit, such as `x.conj().imag`: its
/// elements are those in memory negated, which DLPack does not express.
bool has_negative_bit(py::handle object) {
  static PyObject* const name = PyUnicode_InternFromString("is_neg");
  PyObject* const result = PyObject_CallMethodNoArgs(object.ptr(), name);
  if (result == nullptr) {
    PyErr_Clear();  // a tensor of another library
    return false;
  }
  Py_DECREF(result);
  return result == Py_True;
}

StridedView borrow(py::handle object, const dlpack::ExchangeApi& api, const ArgumentPlace& place) {
  dlpack::Tensor tensor;
  if (api.borrow(object.ptr(), &tensor) != 0) {
    raise_from_python(place.text() + " cannot be read through DLPack");
  }
  return view_dlpack(tensor, false, place);
}

StridedView view_exchange(py::handle object, const dlpack::ExchangeApi& api,
                          const ArgumentPlace& place, py::object& keep_alive) {
  if (api.borrow == nullptr) {
    return view_capsule(object, place, keep_alive);
  }
  if (has_negative_bit(object)) {
    keep_alive = object.attr("resolve_neg")();
    object = keep_alive;
  }
  return borrow(object, api, place);
}

StridedView view_buffer(py::handle object, const ArgumentPlace& place, py::object& keep_alive) {
  PyObject* memoryview = PyMemoryView_FromObject(object.ptr());
  if (memoryview == nullptr) {
    raise_from_python(place.text() + " cannot be read as a buffer");
  }
  keep_alive = py::reinterpret_steal<py::object>(memoryview);
  const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(memoryview);
  StridedView view;
  view.type = element_type_of_buffer(buffer.format, static_cast<size_t>(buffer.itemsize));
  if (view.type == nullptr) {
    refuse(place, "is a buffer of format '" + std::string(buffer.format) +
                      "', which tensors do not support");
  }
  if (buffer.suboffsets != nullptr) {
    refuse(place, "is a buffer of pointers, which tensors cannot be made of");
  }
  set_rank(view, buffer.ndim, place);
  view.data = static_cast<const uint8_t*>(buffer.buf);
  view.read_only = buffer.readonly != 0;
  for (size_t i = 0; i < view.rank; ++i) {
    view.sizes[i] = buffer.shape[i];
    view.strides[i] = buffer.strides[i];
  }
  return view;
}

}  // namespace

TensorType tensor_type(PyTypeObject* type) {
  // Few types occur. An entry keeps its type alive, so that no other type gets the same address;
  // the limit bounds the cache in programs that create types at run time.
  constexpr size_t kLimit = 32;
  struct Known {
    PyTypeObject* type;
    TensorType result;
  };
  static std::vector<Known> known;
  for (const Known& entry : known) {
    if (entry.type == type) {
      return entry.result;
    }
  }
  const TensorType result = inspect(type);
  if (known.size() < kLimit) {
    Py_INCREF(type);
    known.push_back({type, result});
  }
  return result;
}

StridedView view_tensor(py::handle object, TensorType type, const ArgumentPlace& place,
                        py::object& keep_alive) {
  switch (type.access) {
    case TensorAccess::Numpy:
      return view_numpy(object, place);
    case TensorAccess::Exchange:
      return view_exchange(object, *type.exchange, place, keep_alive);
    case TensorAccess::Dlpack:
      return view_capsule(object, place, keep_alive);
    default:
      return view_buffer(object, place, keep_alive);
  }
}

std::optional<StridedView> view_again(py::handle object, TensorType type,
                                      const ArgumentPlace& place) {
  if (type.access == TensorAccess::Numpy) {
    return view_numpy(object, place);
  }
  if (type.access == TensorAccess::Exchange && type.exchange->borrow != nullptr) {
    return borrow(object, *type.exchange, place);
  }
  return std::nullopt;
}

}  // namespace executorch::extension::pybindings
