// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What Python objects the output tensors of a call become: the kind that its inputs are of.
#pragma once

#include <pybind11/pybind11.h>

#include <executorch/extension/pybindings/tensor/shared_tensor.h>
#include <executorch/extension/pybindings/tensor/tensor_object.h>

namespace executorch::extension::pybindings {

/// Starts unknown; the first tensor among the inputs decides. Without one it is torch if the caller
/// has imported that, else numpy.
class OutputKind final {
 public:
  /// Tells of an input tensor. `type` is its type.
  void saw_input(pybind11::handle object, TensorType type);

  /// A Python tensor with memory of its own that holds what `view`, which is dense, shows.
  pybind11::object make_copy(const StridedView& view);

  /// A Python tensor over the memory that `tensor` shares.
  pybind11::object make_view(const SharedTensor& tensor);

 private:
  enum class Kind : uint8_t { Unknown, Numpy, Exchange, FromDlpack };

  void decide_without_inputs();

  Kind kind_ = Kind::Unknown;
  const dlpack::ExchangeApi* exchange_ = nullptr;
  /// For FromDlpack: a function that makes a tensor from an object that has __dlpack__().
  pybind11::object from_dlpack_;
};

}  // namespace executorch::extension::pybindings
