// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A tensor with shared ownership of its memory, and its export through DLPack.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include <executorch/extension/pybindings/tensor/dlpack_abi.h>
#include <executorch/extension/pybindings/tensor/strided_view.h>

namespace executorch::extension::pybindings {

/// The Python class Tensor. Its elements are dense, in some dim order.
struct SharedTensor {
  StridedView view;
  std::shared_ptr<void> owner;

  uint8_t* data() const { return const_cast<uint8_t*>(view.data); }
  size_t nbytes() const { return static_cast<size_t>(view.count()) * view.type->size; }
};

/// Allocates memory for a tensor of `nbytes` bytes.
std::shared_ptr<void> output_memory(size_t nbytes);

/// Copies `view`, which must be dense.
SharedTensor copy_of(const StridedView& view);

/// Exports the tensor to a DLPack consumer, which must call the deleter; any thread may call it.
dlpack::ManagedTensorVersioned* to_dlpack(const SharedTensor& tensor);

void bind_shared_tensor(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
