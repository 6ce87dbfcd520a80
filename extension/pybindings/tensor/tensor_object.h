// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Recognizes Python objects that hold a tensor, and creates views of these tensors.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include <executorch/extension/pybindings/tensor/dlpack_abi.h>
#include <executorch/extension/pybindings/tensor/strided_view.h>

namespace executorch::extension::pybindings {

/// The interface by which an object exposes its tensor.
enum class TensorAccess : uint8_t {
  /// The object does not hold a tensor.
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
  /// Viewing an object runs no Python code, which could change other inputs.
  bool is_plain = false;
};

/// Returns how objects of `type` expose their tensor. Results are cached.
TensorType tensor_type(PyTypeObject* type);

/// An object's place among a call's arguments, for error messages.
struct ArgumentPlace {
  const std::string& method;
  size_t index;

  /// "forward(): input 2".
  std::string text() const { return method + "(): input " + std::to_string(index); }
};

/// Returns a view of the tensor in `object`, whose type is `type` (not None). `keep_alive` gets
/// objects besides `object` that must outlive the view. Raises InvalidArgumentError for an
/// unsupported device, element type or rank.
StridedView view_tensor(pybind11::handle object, TensorType type, const ArgumentPlace& place,
                        pybind11::object& keep_alive);

/// Views an object again without running Python code. nullopt for an object whose view does not
/// depend on it, because a capsule or a buffer holds the memory.
std::optional<StridedView> view_again(pybind11::handle object, TensorType type,
                                      const ArgumentPlace& place);

}  // namespace executorch::extension::pybindings
