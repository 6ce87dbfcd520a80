// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/tensor/shared_tensor.h>

#include <pybind11/stl.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include <executorch/extension/pybindings/interpreter/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

constexpr size_t kAlignment = 64;

/// A managed tensor together with the sizes and strides that it points to.
template <typename Managed>
struct Exported {
  Managed managed;
  std::shared_ptr<void> owner;
  std::array<int64_t, kMaxRank> shape;
  std::array<int64_t, kMaxRank> strides;
};

template <typename Managed>
Managed* export_as(const SharedTensor& tensor) {
  auto* exported = new Exported<Managed>{};
  const StridedView& view = tensor.view;
  exported->owner = tensor.owner;
  exported->shape = view.sizes;
  for (size_t i = 0; i < view.rank; ++i) {
    exported->strides[i] = view.strides[i] / view.type->size;
  }
  exported->managed.context = exported;
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->context);
  };
  exported->managed.tensor = {tensor.data(),
                              {dlpack::kDeviceCpu, 0},
                              static_cast<int32_t>(view.rank),
                              view.type->dlpack_type(),
                              exported->shape.data(),
                              exported->strides.data(),
                              0};
  return &exported->managed;
}

/// Wraps the managed tensor in a capsule, which deletes it unless a consumer has taken it. A
/// consumer renames the capsule.
template <typename Managed>
py::object to_capsule(Managed* managed, const char* name) {
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* self) {
    const char* current = PyCapsule_GetName(self);
    if (current != nullptr && std::strncmp(current, "used_", 5) != 0) {
      auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, current));
      unused->deleter(unused);
    }
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(capsule);
}

py::object dlpack_capsule(const SharedTensor& self, const py::object& stream,
                          const std::optional<std::pair<uint32_t, uint32_t>>& max_version,
                          const std::optional<std::pair<int32_t, int32_t>>& dl_device,
                          const std::optional<bool>& copy) {
  if (!stream.is_none()) {
    throw py::value_error("stream must be None for a tensor in CPU memory");
  }
  if (dl_device && dl_device->first != dlpack::kDeviceCpu) {
    throw py::buffer_error("the tensor is in the CPU's memory and cannot be moved elsewhere");
  }
  const SharedTensor tensor = copy.value_or(false) ? copy_of(self.view) : self;
  if (max_version && max_version->first >= dlpack::kVersion.major) {
    return to_capsule(to_dlpack(tensor), "dltensor_versioned");
  }
  return to_capsule(export_as<dlpack::ManagedTensor>(tensor), "dltensor");
}

py::tuple shape_of(const SharedTensor& tensor) {
  py::tuple shape(tensor.view.rank);
  for (size_t i = 0; i < tensor.view.rank; ++i) {
    shape[i] = tensor.view.sizes[i];
  }
  return shape;
}

py::bytes row_major_bytes(const SharedTensor& tensor) {
  std::array<uint8_t, kMaxRank> row_major;
  for (size_t i = 0; i < kMaxRank; ++i) {
    row_major[i] = static_cast<uint8_t>(i);
  }
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<ssize_t>(tensor.nbytes()));
  if (bytes == nullptr) {
    throw py::error_already_set();
  }
  copy_dense(tensor.view, row_major.data(), reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(bytes)));
  return py::reinterpret_steal<py::bytes>(bytes);
}

}  // namespace

std::shared_ptr<void> output_memory(size_t nbytes) {
  void* memory = std::aligned_alloc(kAlignment, (nbytes / kAlignment + 1) * kAlignment);
  if (memory == nullptr) {
    raise_error(runtime::Error::MemoryAllocationFailed,
                "no memory for an output of " + std::to_string(nbytes) + " bytes");
  }
  return std::shared_ptr<void>(memory, std::free);
}

SharedTensor copy_of(const StridedView& view) {
  SharedTensor tensor{view, nullptr};
  const size_t nbytes = tensor.nbytes();
  tensor.owner = output_memory(nbytes);
  if (nbytes != 0) {
    std::memcpy(tensor.owner.get(), view.data, nbytes);
  }
  tensor.view.data = static_cast<const uint8_t*>(tensor.owner.get());
  return tensor;
}

dlpack::ManagedTensorVersioned* to_dlpack(const SharedTensor& tensor) {
  dlpack::ManagedTensorVersioned* managed = export_as<dlpack::ManagedTensorVersioned>(tensor);
  managed->version = dlpack::kVersion;
  managed->flags = 0;
  return managed;
}

void bind_shared_tensor(py::module_& module) {
  py::class_<SharedTensor>(module, "Tensor", py::module_local(),
                           "A tensor of an element type that numpy does not have, for consumers of "
                           "DLPack (torch.from_dlpack, and this runtime's own inputs).")
      .def_property_readonly("shape", shape_of, "The sizes, outermost first.")
      .def_property_readonly(
          "dtype", [](const SharedTensor& self) { return self.view.type->name; },
          "The element type's name, for instance 'bfloat16'.")
      .def_property_readonly("nbytes", &SharedTensor::nbytes, "The elements' size in bytes.")
      .def("tobytes", row_major_bytes, "The elements' bytes in row-major order.")
      .def("__dlpack__", dlpack_capsule, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none(), "A DLPack capsule that keeps the memory alive.")
      .def(
          "__dlpack_device__", [](const SharedTensor&) { return py::make_tuple(1, 0); },
          "The CPU as DLPack's pair (device type, device id).")
      .def("__repr__", [](const SharedTensor& self) { return "<" + self.view.describe() + ">"; });
}

}  // namespace executorch::extension::pybindings
