// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Python objects that hold a tensor: recognizing them and looking into them.
#pragma once

#include <pybind11/pybind11.h>

#include <executorch/extension/pybindings/tensor/dlpack_abi.h>
#include <executorch/extension/pybindings/tensor/strided_view.h>

namespace executorch::extension::pybindings {

/// How the tensor in an object of some type is reached.
enum class TensorAccess : uint8_t {
  /// The type holds no tensor.
  None,
  /// numpy.ndarray.
  Numpy,
  /// DLPack's table of C functions (torch).
  Exchange,
  /// The method __dlpack__.
  Dlpack,
  /// The buffer protocol.
  Buffer,
};

struct TensorType {
  TensorAccess access = TensorAccess::None;
  /// For Exchange.
  const dlpack::ExchangeApi* exchange = nullptr;
};

/// How to reach the tensor in objects of `type`. What it found is kept for the next time.
TensorType tensor_type(PyTypeObject* type);

/// What an error message says an object was given as.
struct ArgumentPlace {
  const std::string& method;
  size_t index;

  /// "forward(): input 2".
  std::string text() const { return method + "(): input " + std::to_string(index); }
};

/// The view of the tensor in `object`, whose type is `type` (not None). What the view needs beyond
/// `object` itself is put into `keep_alive`. Raises InvalidArgumentError for an object that cannot
/// be used: its device, element type or rank.
StridedView view_tensor(pybind11::handle object, TensorType type, const ArgumentPlace& place,
                        pybind11::object& keep_alive);

}  // namespace executorch::extension::pybindings
