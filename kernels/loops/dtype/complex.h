// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Complex numbers. Kernels compute with them in one type, whatever their width: few programs have
// them, and every further type would make each kernel larger.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/strided.h>

#include <complex>

namespace executorch::kernels {

using Complex = std::complex<double>;

/// The real (0) or imaginary (1) parts of complex memory. Real memory is its own real part.
inline Strided part_of(const Strided& memory, int which) {
  Strided part = memory;
  part.dtype = part_dtype(memory.dtype);
  part.data += which * part.element_size();
  return part;
}

/// Reads runs of a tensor as complex numbers. Real elements get imaginary parts of zero.
class ComplexReader {
 public:
  ComplexReader() = default;
  explicit ComplexReader(ScalarType dtype)
      : width_(is_complex(dtype) ? width_of(part_dtype(dtype)) : 0),
        load_(load(part_dtype(dtype), Compute::Double)) {}
  bool valid() const { return load_ != nullptr; }

  /// n elements, `stride` bytes apart.
  void operator()(const char* from, int64_t stride, int64_t n, Complex* to) const {
    auto* const parts = reinterpret_cast<char*>(to);
    load_(parts, sizeof(Complex), from, stride, n);
    if (width_ != 0) {
      load_(parts + sizeof(double), sizeof(Complex), from + width_, stride, n);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = to[i].real();
    }
  }

 private:
  int64_t width_ = 0;  // of a part, 0 for real memory
  Convert load_ = nullptr;
};

/// Writes runs of complex numbers as elements of a tensor. A real tensor takes the real parts.
class ComplexWriter {
 public:
  explicit ComplexWriter(ScalarType dtype)
      : width_(is_complex(dtype) ? width_of(part_dtype(dtype)) : 0),
        store_(store(Compute::Double, part_dtype(dtype))) {}
  bool valid() const { return store_ != nullptr; }

  /// n elements, `stride` bytes apart.
  void operator()(char* to, int64_t stride, const Complex* from, int64_t n) const {
    const auto* const parts = reinterpret_cast<const char*>(from);
    store_(to, stride, parts, sizeof(Complex), n);
    if (width_ != 0) store_(to + width_, stride, parts + sizeof(double), sizeof(Complex), n);
  }

 private:
  int64_t width_;  // of a part, 0 for real memory
  Convert store_;
};

}  // namespace executorch::kernels
