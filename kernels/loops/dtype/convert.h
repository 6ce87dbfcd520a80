// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Converts runs of elements between a tensor's dtype and a compute type. This keeps kernels small:
// their mathematics is compiled for few compute types, and all kernels share one conversion for
// each dtype.
#pragma once

#include <executorch/kernels/loops/dtype/cast.h>
#include <executorch/kernels/loops/dtype/dtype.h>

namespace executorch::kernels {

/// Converts n elements; strides count bytes, so that 0 repeats a source element.
using Convert = void (*)(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                         int64_t n);

/// From a tensor's dtype to a compute type. nullptr for a dtype that kernels do not support, and
/// for complex numbers, unless they are converted to bool.
Convert load(ScalarType from, Compute to);
/// From a compute type to a tensor's dtype. nullptr for a dtype that kernels do not support.
Convert store(Compute from, ScalarType to);
/// Moves n elements of a dtype. nullptr unless elements are 1, 2, 4, 8 or 16 bytes wide.
Convert move(int64_t bytes);
/// Writes one element of that many bytes (1, 2, 4 or 8) n times.
void repeat(char* to, const char* element, int64_t bytes, int64_t n);

/// Elements handled between two conversions. A kernel has up to eight such blocks, of 8 bytes an
/// element, on its stack: 16 KB under an operating system, where they fit in the L1 cache;
/// elsewhere 2 KB.
inline constexpr int64_t kBlock = is_bare_metal ? 32 : 256;

/// Reads runs of a tensor as C, without a copy where its memory holds C already.
template <class C>
class Reader {
 public:
  /// If the dtype is not supported, `valid()` is false.
  explicit Reader(ScalarType dtype);
  bool valid() const { return direct_ || load_ != nullptr; }
  /// n ≤ kBlock elements starting at `from`, stride in bytes; valid until the next call.
  const C* operator()(const char* from, int64_t stride, int64_t n) {
    if (direct_ && stride == int64_t(sizeof(C))) return reinterpret_cast<const C*>(from);
    load_(reinterpret_cast<char*>(block_), sizeof(C), from, stride, n);
    return block_;
  }

 private:
  Convert load_;
  bool direct_;
  C block_[kBlock];
};

template <class C>
inline constexpr Compute compute_type = std::is_same_v<C, bool>     ? Compute::Bool
                                        : std::is_same_v<C, float>  ? Compute::Float
                                        : std::is_same_v<C, double> ? Compute::Double
                                                                    : Compute::Int64;

template <class C>
Reader<C>::Reader(ScalarType dtype)
    : load_(load(dtype, compute_type<C>)), direct_(dtype == dtype_of(compute_type<C>)) {}

/// One element of any dtype as C.
template <class C>
C read(const char* from, ScalarType dtype) {
  C value{};
  if (const Convert convert = load(dtype, compute_type<C>)) {
    convert(reinterpret_cast<char*>(&value), 0, from, 0, 1);
  }
  return value;
}

/// One element written as any dtype.
template <class C>
void write(C value, char* to, ScalarType dtype) {
  if (const Convert convert = store(compute_type<C>, dtype)) {
    convert(to, 0, reinterpret_cast<const char*>(&value), 0, 1);
  }
}

}  // namespace executorch::kernels
