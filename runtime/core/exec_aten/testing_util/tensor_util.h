// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Comparing tensors in googletest, and how googletest prints them.
#pragma once

#include <gtest/gtest.h>
#include <math.h>
#if __has_include(<gmock/gmock.h>)
#include <gmock/gmock.h>
#define ET_INTERNAL_HAS_GMOCK 1
#endif
#include <string.h>

#include <limits>
#include <optional>
#include <ostream>
#include <type_traits>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch::runtime::testing {

namespace internal {

/// The tolerances of "close": those of ExecuTorch 1.4, whose absolute ones are wider for 16 bits.
constexpr double kDefaultRtol = 1e-5;
constexpr double kDefaultAtol = 1e-8;
constexpr double kDefaultHalfAtol = 1e-3;
constexpr double kDefaultBFloat16Atol = 1e-2;

/// Calls `visitor` with a value of the C++ type of a dtype that has arithmetic; false for others.
template <typename Visitor>
bool visit_dtype(executorch::aten::ScalarType type, Visitor&& visitor) {
  switch (type) {
#define ET_INTERNAL_VISIT(ctype, name)                                                 \
  case executorch::aten::ScalarType::name:                                             \
    if constexpr (std::is_arithmetic_v<ctype> || is_reduced_floating_point_v<ctype>) { \
      visitor(ctype{});                                                                \
      return true;                                                                     \
    }                                                                                  \
    return false;
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_VISIT)
#undef ET_INTERNAL_VISIT
    default:
      return false;
  }
}

inline bool close(double a, double b, double rtol, double atol) {
  if (isnan(a) || isnan(b)) {
    return isnan(a) && isnan(b);
  }
  return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= atol + rtol * fabs(b));
}

template <typename T>
bool data_is_close(const T* a, const T* b, size_t count, std::optional<double> rtol,
                   std::optional<double> atol) {
  constexpr bool kHalf = std::is_same_v<T, executorch::aten::Half>;
  constexpr bool kBFloat16 = std::is_same_v<T, executorch::aten::BFloat16>;
  const double r = rtol.value_or(kDefaultRtol);
  const double t = atol.value_or(kHalf       ? kDefaultHalfAtol
                                 : kBFloat16 ? kDefaultBFloat16Atol
                                             : kDefaultAtol);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      if (a[i] != b[i]) {
        return false;
      }
    } else if (!close(static_cast<double>(a[i]), static_cast<double>(b[i]), r, t)) {
      return false;
    }
  }
  return true;
}

}  // namespace internal

/// True if the elements, in the order in which they lie in memory, are close: |a - b| <= atol +
/// rtol * |b|, and NaN is close to NaN only. Dtype and number of elements must be the same.
/// Integers and bools are compared exactly, whatever the tolerances; complex numbers by their
/// parts. Defaults: `rtol` 1e-5; `atol` 1e-8, for Half 1e-3, for BFloat16 1e-2.
inline bool tensor_data_is_close(const executorch::aten::Tensor& a,
                                 const executorch::aten::Tensor& b, std::optional<double> rtol = {},
                                 std::optional<double> atol = {}) {
  if (a.scalar_type() != b.scalar_type() || a.numel() != b.numel()) {
    return false;
  }
  bool is_close = false;
  const bool known = internal::visit_dtype(toRealValueType(a.scalar_type()), [&](auto zero) {
    using T = decltype(zero);
    is_close = internal::data_is_close(static_cast<const T*>(a.const_data_ptr()),
                                       static_cast<const T*>(b.const_data_ptr()),
                                       a.nbytes() / sizeof(T), rtol, atol);
  });
  if (!known) {
    is_close = memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
  }
  return is_close;
}

/// The same, and sizes and strides are the same too (the stride of a dimension of size 0 or 1 means
/// nothing).
inline bool tensors_are_close(const executorch::aten::Tensor& a, const executorch::aten::Tensor& b,
                              std::optional<double> rtol = {}, std::optional<double> atol = {}) {
  if (!a.sizes().equals(b.sizes()) || a.strides().size() != b.strides().size()) {
    return false;
  }
  for (size_t i = 0; i < a.strides().size(); ++i) {
    if (a.strides()[i] != b.strides()[i] && a.sizes()[i] > 1 && a.numel() > 0) {
      return false;
    }
  }
  return tensor_data_is_close(a, b, rtol, atol);
}

inline bool tensor_lists_are_close(const executorch::aten::Tensor* a, size_t size_a,
                                   const executorch::aten::Tensor* b, size_t size_b,
                                   std::optional<double> rtol = {},
                                   std::optional<double> atol = {});
inline bool tensor_lists_are_close(executorch::aten::ArrayRef<executorch::aten::Tensor> a,
                                   executorch::aten::ArrayRef<executorch::aten::Tensor> b,
                                   std::optional<double> rtol = {},
                                   std::optional<double> atol = {}) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!tensors_are_close(a[i], b[i], rtol, atol)) {
      return false;
    }
  }
  return true;
}

inline bool tensor_lists_are_close(const executorch::aten::Tensor* a, size_t size_a,
                                   const executorch::aten::Tensor* b, size_t size_b,
                                   std::optional<double> rtol, std::optional<double> atol) {
  using List = executorch::aten::ArrayRef<executorch::aten::Tensor>;
  return tensor_lists_are_close(List(a, size_a), List(b, size_b), rtol, atol);
}

namespace internal {

inline bool compare(const executorch::aten::Tensor& a, const executorch::aten::Tensor& b,
                    std::optional<double> rtol, std::optional<double> atol) {
  return tensors_are_close(a, b, rtol, atol);
}

/// Lists of any kind that has data() and size().
template <typename A, typename B>
bool compare(const A& a, const B& b, std::optional<double> rtol, std::optional<double> atol) {
  return tensor_lists_are_close(a.data(), a.size(), b.data(), b.size(), rtol, atol);
}

template <typename A, typename B>
::testing::AssertionResult verdict(bool as_expected, const A& a, const B& b) {
  if (as_expected) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << ::testing::PrintToString(a) << "\nagainst\n"
                                       << ::testing::PrintToString(b);
}

}  // namespace internal

/// Returns whether two tensors (or lists of tensors) are close, compared with the expectation;
/// prints both sides on a mismatch.
template <typename A, typename B>
::testing::AssertionResult compare_tensors(bool expected, const A& a, const B& b,
                                           std::optional<double> rtol = {},
                                           std::optional<double> atol = {}) {
  return internal::verdict(internal::compare(a, b, rtol, atol) == expected, a, b);
}

/// The same for the elements alone.
inline ::testing::AssertionResult compare_tensor_data(bool expected,
                                                      const executorch::aten::Tensor& a,
                                                      const executorch::aten::Tensor& b,
                                                      std::optional<double> rtol = {},
                                                      std::optional<double> atol = {}) {
  return internal::verdict(tensor_data_is_close(a, b, rtol, atol) == expected, a, b);
}

#if ET_INTERNAL_HAS_GMOCK
// The same for EXPECT_THAT: EXPECT_THAT(tensor, IsCloseTo(expected)). Lists have data() and size().
MATCHER_P(IsEqualTo, other, "") { return tensors_are_close(arg, other, 0, 0); }
MATCHER_P(IsCloseTo, other, "") { return tensors_are_close(arg, other); }
MATCHER_P3(IsCloseToWithTol, other, rtol, atol, "") {
  return tensors_are_close(arg, other, rtol, atol);
}
MATCHER_P(IsDataEqualTo, other, "") { return tensor_data_is_close(arg, other, 0, 0); }
MATCHER_P(IsDataCloseTo, other, "") { return tensor_data_is_close(arg, other); }
MATCHER_P3(IsDataCloseToWithTol, other, rtol, atol, "") {
  return tensor_data_is_close(arg, other, rtol, atol);
}
MATCHER_P(IsListEqualTo, other, "") {
  return tensor_lists_are_close(arg.data(), arg.size(), other.data(), other.size(), 0, 0);
}
MATCHER_P(IsListCloseTo, other, "") {
  return tensor_lists_are_close(arg.data(), arg.size(), other.data(), other.size());
}
#endif

}  // namespace executorch::runtime::testing

// Documented names of the same things.
namespace torch::executor::testing {
using ::executorch::runtime::testing::tensor_data_is_close;
using ::executorch::runtime::testing::tensor_lists_are_close;
using ::executorch::runtime::testing::tensors_are_close;
#if ET_INTERNAL_HAS_GMOCK
using ::executorch::runtime::testing::IsCloseTo;
using ::executorch::runtime::testing::IsCloseToWithTol;
using ::executorch::runtime::testing::IsDataCloseTo;
using ::executorch::runtime::testing::IsDataCloseToWithTol;
using ::executorch::runtime::testing::IsDataEqualTo;
using ::executorch::runtime::testing::IsEqualTo;
using ::executorch::runtime::testing::IsListCloseTo;
using ::executorch::runtime::testing::IsListEqualTo;
#endif
}  // namespace torch::executor::testing

#ifndef USE_ATEN_LIB
namespace executorch::runtime::etensor {

/// Prints type, sizes and the first 64 elements at most.
inline void PrintTo(const Tensor& tensor, std::ostream* os) {
  const char* separator = "";
  const auto put_list = [&](const auto& numbers) {
    separator = "";
    for (const auto number : numbers) {
      *os << separator << static_cast<int64_t>(number);
      separator = ", ";
    }
    *os << "}";
  };
  *os << "ETensor(sizes={";
  put_list(tensor.sizes());
  *os << ", dtype=" << toString(tensor.scalar_type());
  size_t row_major = 0;
  for (const auto dim : tensor.dim_order()) {
    row_major += dim == row_major ? 1 : 0;
  }
  if (row_major != tensor.dim_order().size()) {
    *os << ", strides={";
    put_list(tensor.strides());
  }
  *os << ", data={";
  separator = "";
  testing::internal::visit_dtype(toRealValueType(tensor.scalar_type()), [&](auto zero) {
    using T = decltype(zero);
    const auto* parts = static_cast<const T*>(tensor.const_data_ptr());
    for (ssize_t i = 0; i < tensor.numel() && i < 64; ++i) {
      *os << separator;
      separator = ", ";
      if (isComplexType(tensor.scalar_type())) {
        *os << parts[2 * i] << (signbit(static_cast<double>(parts[2 * i + 1])) ? "" : "+")
            << parts[2 * i + 1] << "j";
      } else if constexpr (sizeof(T) == 1) {
        *os << static_cast<int>(parts[i]);
      } else {
        *os << parts[i];
      }
    }
  });
  *os << (tensor.numel() > 64 ? ", ...})" : "})");
}

inline std::ostream& operator<<(std::ostream& os, const Tensor& tensor) {
  PrintTo(tensor, &os);
  return os;
}
inline std::ostream& operator<<(std::ostream& os, ScalarType type) { return os << toString(type); }

}  // namespace executorch::runtime::etensor
#endif

#define ET_INTERNAL_COMPARE(check, expected, compare, ...) \
  check(::executorch::runtime::testing::compare(expected, __VA_ARGS__))

// Same dtype, sizes, strides and elements; or elements that are close.
#define EXPECT_TENSOR_EQ(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensors, t1, t2, 0, 0)
#define ASSERT_TENSOR_EQ(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensors, t1, t2, 0, 0)
#define EXPECT_TENSOR_NE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensors, t1, t2, 0, 0)
#define ASSERT_TENSOR_NE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensors, t1, t2, 0, 0)
#define EXPECT_TENSOR_CLOSE(t1, t2) ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensors, t1, t2)
#define ASSERT_TENSOR_CLOSE(t1, t2) ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensors, t1, t2)
#define EXPECT_TENSOR_NOT_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensors, t1, t2)
#define ASSERT_TENSOR_NOT_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensors, t1, t2)
#define EXPECT_TENSOR_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensors, t1, t2, rtol, atol)
#define ASSERT_TENSOR_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensors, t1, t2, rtol, atol)
#define EXPECT_TENSOR_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensors, t1, t2, rtol, atol)
#define ASSERT_TENSOR_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensors, t1, t2, rtol, atol)

// The elements in the order in which they lie in memory, whatever the sizes.
#define EXPECT_TENSOR_DATA_EQ(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensor_data, t1, t2, 0, 0)
#define ASSERT_TENSOR_DATA_EQ(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensor_data, t1, t2, 0, 0)
#define EXPECT_TENSOR_DATA_NE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensor_data, t1, t2, 0, 0)
#define ASSERT_TENSOR_DATA_NE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensor_data, t1, t2, 0, 0)
#define EXPECT_TENSOR_DATA_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensor_data, t1, t2)
#define ASSERT_TENSOR_DATA_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensor_data, t1, t2)
#define EXPECT_TENSOR_DATA_NOT_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensor_data, t1, t2)
#define ASSERT_TENSOR_DATA_NOT_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensor_data, t1, t2)
#define EXPECT_TENSOR_DATA_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensor_data, t1, t2, rtol, atol)
#define ASSERT_TENSOR_DATA_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensor_data, t1, t2, rtol, atol)
#define EXPECT_TENSOR_DATA_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensor_data, t1, t2, rtol, atol)
#define ASSERT_TENSOR_DATA_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensor_data, t1, t2, rtol, atol)

// Compare all tensors of two lists.
#define EXPECT_TENSOR_LISTS_EQ(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensors, t1, t2, 0, 0)
#define ASSERT_TENSOR_LISTS_EQ(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensors, t1, t2, 0, 0)
#define EXPECT_TENSOR_LISTS_NE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensors, t1, t2, 0, 0)
#define ASSERT_TENSOR_LISTS_NE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensors, t1, t2, 0, 0)
#define EXPECT_TENSOR_LISTS_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, true, compare_tensors, t1, t2)
#define ASSERT_TENSOR_LISTS_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, true, compare_tensors, t1, t2)
#define EXPECT_TENSOR_LISTS_NOT_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(EXPECT_TRUE, false, compare_tensors, t1, t2)
#define ASSERT_TENSOR_LISTS_NOT_CLOSE(t1, t2) \
  ET_INTERNAL_COMPARE(ASSERT_TRUE, false, compare_tensors, t1, t2)
