// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/promote.h>

namespace executorch::kernels::portable {
namespace {

bool is_unsigned(ScalarType dtype) {
  return dtype == ScalarType::Byte || dtype == ScalarType::UInt16 || dtype == ScalarType::UInt32 ||
         dtype == ScalarType::UInt64;
}

// Two different integer dtypes; an unsigned and a signed one meet in a signed one that holds both.
ScalarType promote_integers(ScalarType a, ScalarType b) {
  if (size_of(a) < size_of(b)) return promote_integers(b, a);
  // a is at least as wide as b.
  if (!is_unsigned(a) && (!is_unsigned(b) || size_of(b) < size_of(a))) return a;
  if (is_unsigned(a) && is_unsigned(b)) return a;
  switch (size_of(a)) {
    case 1:
      return ScalarType::Short;
    case 2:
      return ScalarType::Int;
    default:
      return ScalarType::Long;
  }
}

}  // namespace

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == ScalarType::Undefined || a == b) return b;
  if (b == ScalarType::Undefined) return a;
  const Kind ka = kind_of(a), kb = kind_of(b);
  if (ka != kb) return ka > kb ? a : b;
  if (ka == Kind::Integer) return promote_integers(a, b);
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return ScalarType::Float;  // Half with BFloat16.
}

void Promotion::add(Tier tier, ScalarType dtype) { tiers_[tier] = promote(tiers_[tier], dtype); }

Promotion& Promotion::add(const Tensor& operand) {
  add(operand.dim() > 0 ? kDimensioned : kZeroDim, operand.scalar_type());
  return *this;
}

Promotion& Promotion::add(const Scalar& operand) {
  const ScalarType dtype = dtype_of(operand);
  add(kNumber, dtype == ScalarType::Double ? ScalarType::Float : dtype);
  return *this;
}

ScalarType Promotion::result() const {
  ScalarType result = tiers_[kDimensioned];
  for (int tier = kZeroDim; tier < kTiers; ++tier) {
    const ScalarType next = tiers_[tier];
    if (next == ScalarType::Undefined) continue;
    if (result == ScalarType::Undefined || kind_of(next) > kind_of(result)) result = next;
  }
  return result;
}

ScalarType dtype_of(const Scalar& scalar) {
  return scalar.isBoolean()         ? ScalarType::Bool
         : scalar.isFloatingPoint() ? ScalarType::Double
                                    : ScalarType::Long;
}

}  // namespace executorch::kernels::portable
