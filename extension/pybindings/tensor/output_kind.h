// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Selects the Python type of a call's output tensors: that of its inputs.
#pragma once

#include <pybind11/pybind11.h>

#include <executorch/extension/pybindings/tensor/shared_tensor.h>
#include <executorch/extension/pybindings/tensor/tensor_object.h>

namespace executorch::extension::pybindings {

/// Unknown at first; the first input tensor decides. Without input tensors it is torch if torch has
/// been imported, else numpy.
class OutputKind final {
 public:
  /// Records an input tensor and its type.
  void record_input(pybind11::handle object, TensorType type);

  /// Returns a Python tensor with a copy of `view`, which must be dense.
  pybind11::object make_copy(const StridedView& view);

  /// Returns a Python tensor that shares the memory of `tensor`.
  pybind11::object make_view(const SharedTensor& tensor);

 private:
  enum class Kind : uint8_t { Unknown, Numpy, Exchange, FromDlpack };

  void decide_without_inputs();

  Kind kind_ = Kind::Unknown;
  const dlpack::ExchangeApi* exchange_ = nullptr;
  /// For FromDlpack: the library's function from_dlpack().
  pybind11::object from_dlpack_;
};

}  // namespace executorch::extension::pybindings
