// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Type promotion as torch.result_type does it: three tiers of operands (tensors with dimensions,
// zero-dim tensors, numbers); a lower tier decides only when its kind (bool < integer < floating)
// is higher.
#pragma once

#include <executorch/kernels/loops/dtype/dtype.h>

namespace executorch::kernels {

/// torch.promote_types for the dtypes that kernels hold.
ScalarType promote(ScalarType a, ScalarType b);

/// Computes the common dtype of operands that are added one by one.
class Promotion {
 public:
  Promotion& add(const Tensor& operand);
  Promotion& add(const Scalar& operand);
  /// The common dtype; Undefined when nothing was added.
  ScalarType result() const;

 private:
  enum Tier { kDimensioned, kZeroDim, kNumber, kTiers };
  void add(Tier tier, ScalarType dtype);
  ScalarType tiers_[kTiers] = {ScalarType::Undefined, ScalarType::Undefined, ScalarType::Undefined};
};

/// The dtype in which a floating-point operator computes: integers and bool become float32.
inline ScalarType to_floating(ScalarType dtype) {
  return is_integral(dtype) ? ScalarType::Float : dtype;
}

/// The dtype of a number: Bool, Long or Double.
ScalarType dtype_of(const Scalar& scalar);

}  // namespace executorch::kernels
