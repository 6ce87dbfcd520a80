// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/portable_type/half.h>

namespace executorch::runtime::etensor {

/// A complex number as a tensor stores it: real part first.
template <typename T>
struct alignas(sizeof(T) * 2) complex {
  using value_type = T;

  complex() = default;
  /* implicit */ complex(T real, T imag = T(0)) : real_(real), imag_(imag) {}

  T real() const { return real_; }
  T imag() const { return imag_; }

  T real_;
  T imag_;
};

template <typename T>
bool operator==(complex<T> a, complex<T> b) {
  return a.real_ == b.real_ && a.imag_ == b.imag_;
}
template <typename T>
bool operator!=(complex<T> a, complex<T> b) {
  return !(a == b);
}
template <typename T>
complex<T> operator+(complex<T> a, complex<T> b) {
  return {T(a.real_ + b.real_), T(a.imag_ + b.imag_)};
}
template <typename T>
complex<T> operator-(complex<T> a, complex<T> b) {
  return {T(a.real_ - b.real_), T(a.imag_ - b.imag_)};
}
template <typename T>
complex<T> operator*(complex<T> a, complex<T> b) {
  return {T(a.real_ * b.real_ - a.imag_ * b.imag_), T(a.real_ * b.imag_ + a.imag_ * b.real_)};
}

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::complex;
}  // namespace torch::executor
