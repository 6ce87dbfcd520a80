// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Properties of dtypes, type promotion, and conversion of elements.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/dtype/dtype.h>
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/dtype/reduced_float.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/platform/compiler.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace executorch::kernels {

namespace {

struct Facts {
  Kind kind;
  uint8_t size;
  const char* name;
};

/// Inline, so that a build without messages does not contain the names.
ET_INLINE Facts facts(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return {Kind::Bool, 1, "bool"};
    case ScalarType::Byte:
      return {Kind::Integer, 1, "uint8"};
    case ScalarType::Char:
      return {Kind::Integer, 1, "int8"};
    case ScalarType::Short:
      return {Kind::Integer, 2, "int16"};
    case ScalarType::Int:
      return {Kind::Integer, 4, "int32"};
    case ScalarType::Long:
      return {Kind::Integer, 8, "int64"};
    case ScalarType::UInt16:
      return {Kind::Integer, 2, "uint16"};
    case ScalarType::UInt32:
      return {Kind::Integer, 4, "uint32"};
    case ScalarType::UInt64:
      return {Kind::Integer, 8, "uint64"};
    case ScalarType::Half:
      return {Kind::Floating, 2, "float16"};
    case ScalarType::BFloat16:
      return {Kind::Floating, 2, "bfloat16"};
    case ScalarType::Float:
      return {Kind::Floating, 4, "float32"};
    case ScalarType::Double:
      return {Kind::Floating, 8, "float64"};
    case ScalarType::ComplexHalf:
      return {Kind::Unsupported, 4, "complex32"};
    case ScalarType::ComplexFloat:
      return {Kind::Unsupported, 8, "complex64"};
    case ScalarType::ComplexDouble:
      return {Kind::Unsupported, 16, "complex128"};
    default:
      return {Kind::Unsupported, 0, "a dtype unknown to the kernels"};
  }
}

}  // namespace

Kind kind_of(ScalarType dtype) { return is_held(dtype) ? facts(dtype).kind : Kind::Unsupported; }
int64_t width_of(ScalarType dtype) { return facts(dtype).size; }
int64_t size_of(ScalarType dtype) { return is_complex(dtype) ? 0 : width_of(dtype); }
const char* name_of(ScalarType dtype) { return facts(dtype).name; }

namespace {

/// Two different integer dtypes; an unsigned and a signed one meet in a signed one that holds both.
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

/// One dtype or both are complex; the wider parts win.
ScalarType promote_complex(ScalarType a, ScalarType b) {
  const bool integral = is_integral(a) || is_integral(b);
  if (integral) return is_complex(a) ? a : b;
  return complex_dtype(promote(part_dtype(a), part_dtype(b)));
}

}  // namespace

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == ScalarType::Undefined || a == b) return b;
  if (b == ScalarType::Undefined) return a;
  if constexpr (has_complex) {
    if (is_complex(a) || is_complex(b)) return promote_complex(a, b);
  }
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
    if (result == ScalarType::Undefined) {
      result = next;
    } else if (has_complex && (is_complex(next) || is_complex(result))) {
      // A complex operand of a lower tier leaves the width of the parts as it is.
      if (!is_complex(result)) result = is_floating(result) ? complex_dtype(result) : next;
    } else if (kind_of(next) > kind_of(result)) {
      result = next;
    }
  }
  return result;
}

ScalarType dtype_of(const Scalar& scalar) {
  return scalar.isBoolean()         ? ScalarType::Bool
         : scalar.isFloatingPoint() ? ScalarType::Double
                                    : ScalarType::Long;
}

Number::Number(const Scalar& scalar) : dtype_(dtype_of(scalar)) {
  const auto keep = [this](auto value) { std::memcpy(storage_, &value, sizeof(value)); };
  if (dtype_ == ScalarType::Double) {
    keep(as_double(scalar));
  } else if (dtype_ == ScalarType::Bool) {
    keep(as_int(scalar) != 0);
  } else {
    keep(as_int(scalar));
  }
}

Strided Number::strided() const {
  Strided result;
  result.data = const_cast<char*>(storage_);
  result.dtype = dtype_;
  return result;
}

namespace {

template <class To, class From>
To converted(const char* from) {
  if constexpr (std::is_same_v<From, bool>) {
    return cast<To>(int64_t(element<bool>(from, 0)));
  } else {
    return cast<To>(*reinterpret_cast<const From*>(from));
  }
}

template <class To, class From>
void convert_each(To* to, const From* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = converted<To, From>(reinterpret_cast<const char*>(from + i));
  }
}

/// Vector instructions convert to int32 only. If a whole run fits int32, converting by int32 gives
/// the same uint8 as converting by int64.
[[maybe_unused]] void convert_by_int32(uint8_t* to, const float* from, int64_t n) {
  constexpr int64_t kRun = 256;
  for (int64_t first = 0; first < n; first += kRun) {
    const int64_t count = std::min(kRun, n - first);
    const float* const x = from + first;
    uint32_t outside = 0;
    for (int64_t i = 0; i < count; ++i) outside |= !(std::fabs(x[i]) < 2147483648.0f);
    if (outside != 0) {
      convert_each(to + first, x, count);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      to[first + i] = static_cast<uint8_t>(static_cast<int32_t>(x[i]));
    }
  }
}

template <class To, class From>
void convert_adjacent(To* to, const From* from, int64_t n) {
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, uint8_t>) {
    convert_by_int32(to, from, n);
  } else {
    convert_each(to, from, n);
  }
}

template <class To, class From>
inline constexpr bool is_widening = std::is_same_v<To, float> && is_half<From>;

template <class To, class From>
void convert(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  if (to_stride == int64_t(sizeof(To)) && from_stride == int64_t(sizeof(From))) {
    if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
      if (n > 0) std::memmove(to, from, static_cast<size_t>(n) * sizeof(To));
      return;
    }
    auto* target = reinterpret_cast<To*>(to);
    const auto* source = reinterpret_cast<const From*>(from);
    if constexpr (is_widening<To, From> || is_widening<From, To>) {
      const int64_t done = convert_halves(target, source, n);
      target += done, source += done, n -= done;
      if (n == 0) return;
    }
    if constexpr (is_half<To> || is_half<From> || std::is_same_v<To, float> ||
                  std::is_same_v<From, float>) {
      in_vectors([](To* t, const From* f, int64_t count) { convert_adjacent(t, f, count); }, target,
                 source, n);
    } else {
      convert_adjacent(target, source, n);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<To*>(to + i * to_stride) = converted<To, From>(from + i * from_stride);
  }
}

/// A selective build needs only some pairs of types. Tensors are read as the compute types of the
/// build, as bool, and as double for single values. Numbers (Scalar) are written and read as their
/// own types, and read as the compute types.
template <class T>
inline constexpr bool is_number_only =
    (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double>) &&
    !is_selected(runtime::CppTypeToScalarType<T>::value);
template <class T>
using NumberCompute = std::conditional_t<std::is_same_v<T, double>, double, int64_t>;

template <class T, class C>
inline constexpr bool is_loaded =
    is_computed<C> ||
    std::is_same_v<C, std::conditional_t<is_number_only<T>, NumberCompute<T>, double>>;
template <class T, class C>
inline constexpr bool is_stored =
    !is_number_only<T> || std::is_same_v<C, NumberCompute<T>> || std::is_same_v<C, T>;

template <class C>
Convert load_as(ScalarType from) {
  Convert load = nullptr;
  visit(from, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (is_loaded<T, C>) load = convert<C, T>;
  });
  return load;
}

template <class C>
Convert store_from(ScalarType to) {
  Convert store = nullptr;
  visit(to, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (is_stored<T, C>) store = convert<T, C>;
  });
  return store;
}

/// A complex number is true unless both of its parts are zero.
template <class T>
void convert_complex_to_truth(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                              int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const auto* const parts = reinterpret_cast<const T*>(from + i * from_stride);
    *reinterpret_cast<bool*>(to + i * to_stride) = cast<bool>(parts[0]) || cast<bool>(parts[1]);
  }
}

Convert load_complex_as_truth(ScalarType from) {
  return from == ScalarType::ComplexHalf    ? convert_complex_to_truth<Half>
         : from == ScalarType::ComplexFloat ? convert_complex_to_truth<float>
                                            : convert_complex_to_truth<double>;
}

}  // namespace

Convert load(ScalarType from, Compute to) {
  if constexpr (has_complex) {
    if (is_complex(from) && to == Compute::Bool) return load_complex_as_truth(from);
  }
  switch (to) {
    case Compute::Bool:
      return load_as<bool>(from);
    case Compute::Int64:
      return load_as<int64_t>(from);
    case Compute::Float:
      return load_as<float>(from);
    default:
      return load_as<double>(from);
  }
}

Convert store(Compute from, ScalarType to) {
  switch (from) {
    case Compute::Bool:
      return store_from<bool>(to);
    case Compute::Int64:
      return store_from<int64_t>(to);
    case Compute::Float:
      return store_from<float>(to);
    default:
      return store_from<double>(to);
  }
}

Convert move(int64_t bytes) {
  Convert copy = nullptr;
  visit_width(bytes, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    copy = convert<T, T>;
  });
  return copy;
}

void repeat(char* to, const char* element, int64_t bytes, int64_t n) {
  visit_width(bytes, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    in_vectors([](T* at, T value, int64_t count) { std::fill_n(at, count, value); },
               reinterpret_cast<T*>(to), *reinterpret_cast<const T*>(element), n);
  });
}

}  // namespace executorch::kernels
