// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reductions over no elements: an empty operand gets one neutral element in each empty dimension.
#pragma once

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>

namespace executorch::backends::xnnpack {

/// One neutral element for each missing one: 0 for a sum or a product, whose result is then 0, and
/// NaN for a mean, whose result is then NaN, as in PyTorch.
class NeutralOperands final {
 public:
  /// True if the operator of a node computes its result from neutral elements.
  static bool suit(const Node& node, const Tensors& tensors);

  /// Gives empty operands the shapes and memory of neutral elements. Operators reshaped and bound
  /// with these tensors read this object's memory.
  /// @param limit_of_all Maximum number of bytes of all delegates.
  /// @retval Error::MemoryAllocationFailed
  runtime::Error replace(const Node& node, size_t limit_of_all, Tensors* tensors);
  /// Gives replaced operands their memory again, after a binding of the values' own.
  void bind(Tensors* tensors) const;

 private:
  struct Replacement {
    Shape shape;
    DelegateBlock memory;
  };

  /// By operand; without memory where the operand has elements.
  Replacement operands_[Node::kMaxOperands];
  Shape unfused_;
};

}  // namespace executorch::backends::xnnpack
