// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/bundled_program/output_error.h>

#include <math.h>

#include <limits>
#include <type_traits>

#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::bundled_program {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::kTensorDimensionLimit;
using runtime::Span;
using runtime::Tag;

namespace {

/// |a - b|, exact for 64-bit integers that double cannot represent.
template <typename T>
double distance(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto high = static_cast<uint64_t>(a > b ? a : b);
    return static_cast<double>(high - static_cast<uint64_t>(a > b ? b : a));
  } else {
    const auto x = static_cast<double>(a);
    const auto y = static_cast<double>(b);
    if (x == y || (x != x && y != y)) {
      return 0;
    }
    const double apart = fabs(x - y);
    return apart == apart ? apart : std::numeric_limits<double>::infinity();
  }
}

template <typename T>
void compare_number(T computed, T expected, const Tolerances& tolerances, OutputError* error) {
  const double absolute = distance(computed, expected);
  const double size = fabs(static_cast<double>(expected));
  ++error->count;
  // Check equality first: inf - inf is NaN, and an infinite `expected` gives an infinite tolerance.
  const bool within =
      absolute == 0 ||
      (isfinite(size) && absolute <= tolerances.absolute + tolerances.relative * size);
  error->beyond += within ? 0 : 1;
  error->sum_absolute += absolute;
  error->max_absolute = fmax(error->max_absolute, absolute);
  if (size > 0) {
    const double relative = absolute == 0 ? 0 : absolute / size;
    ++error->relative_count;
    error->sum_relative += relative;
    error->max_relative = fmax(error->max_relative, relative);
  }
}

/// Positions of corresponding elements in two tensors of different dim orders, in index order.
class Places final {
 public:
  using Step = executorch::aten::StridesType;

  Places(Span<const int32_t> sizes, const Step* first, const Step* second)
      : sizes_(sizes), first_(first), second_(second) {}

  size_t first() const { return static_cast<size_t>(at_[0]); }
  size_t second() const { return static_cast<size_t>(at_[1]); }

  void next() {
    for (size_t dim = sizes_.size(); dim-- > 0;) {
      at_[0] += first_[dim];
      at_[1] += second_[dim];
      if (++index_[dim] < sizes_[dim]) {
        return;
      }
      at_[0] -= int64_t{first_[dim]} * sizes_[dim];
      at_[1] -= int64_t{second_[dim]} * sizes_[dim];
      index_[dim] = 0;
    }
  }

 private:
  Span<const int32_t> sizes_;
  const Step* first_;
  const Step* second_;
  int32_t index_[kTensorDimensionLimit] = {};
  int64_t at_[2] = {};
};

bool same_sizes(const Tensor& tensor, Span<const int32_t> sizes) {
  bool same = static_cast<size_t>(tensor.dim()) == sizes.size();
  for (size_t i = 0; same && i < sizes.size(); ++i) {
    same = tensor.sizes()[i] == sizes[i];
  }
  return same;
}

Error compare_tensor(const Tensor& tensor, const CaseValue& expected, const Tolerances& tolerances,
                     OutputError* error) {
  const auto& layout = *expected.layout;
  const ScalarType type = tensor.scalar_type();
  ET_CHECK_OR_RETURN_ERROR(type == layout.scalar_type(), InvalidType, "dtype %s, expected %s",
                           runtime::toString(type), runtime::toString(layout.scalar_type()));
  ET_CHECK_OR_RETURN_ERROR(
      same_sizes(tensor, layout.sizes()), InvalidArgument, "sizes %s, expected %s",
      runtime::tensor_shape_to_c_string(
          Span<const executorch::aten::SizesType>(tensor.sizes().data(), tensor.sizes().size()))
          .data(),
      runtime::tensor_shape_to_c_string(layout.sizes()).data());
  ET_CHECK_OR_RETURN_ERROR(tensor.const_data_ptr() != nullptr || tensor.numel() == 0, InvalidState,
                           "the output lacks memory: execute the method first");
  const size_t rank = layout.sizes().size();
  Places::Step dense[kTensorDimensionLimit];
  ET_CHECK_OK_OR_RETURN_ERROR(
      runtime::dim_order_to_stride(layout.sizes().data(), layout.dim_order().data(), rank, dense));
  executorch::aten::DimOrderType order[kTensorDimensionLimit];
  Places::Step own[kTensorDimensionLimit];
  ET_CHECK_OK_OR_RETURN_ERROR(runtime::get_dim_order(tensor, order, rank));
  ET_CHECK_OK_OR_RETURN_ERROR(
      runtime::dim_order_to_stride(layout.sizes().data(), order, rank, own));
  Places places(layout.sizes(), own, dense);
  // A complex element has two numbers.
  const ScalarType part = ET_RUNTIME_NAMESPACE::toRealValueType(type);
  const size_t parts = part == type ? 1 : 2;
  const auto numel = static_cast<size_t>(tensor.numel());
  const bool is_number = extension::visit_number_type(part, [&](auto element) {
    using T = typename decltype(element)::type;
    const auto* a = static_cast<const T*>(tensor.const_data_ptr());
    const auto* b = reinterpret_cast<const T*>(expected.data);
    for (size_t i = 0; i < numel; ++i, places.next()) {
      for (size_t part = 0; part < parts; ++part) {
        compare_number(extension::number_at(a, places.first() * parts + part),
                       extension::number_at(b, places.second() * parts + part), tolerances, error);
      }
    }
  });
  ET_CHECK_OR_RETURN_ERROR(is_number, NotSupported, "numbers of dtype %s cannot be compared",
                           runtime::toString(type));
  return Error::Ok;
}

}  // namespace

Error compare_output(const runtime::EValue& output, const CaseValue& expected,
                     const Tolerances& tolerances, OutputError* error) {
  ET_CHECK_OR_RETURN_ERROR(output.tag == expected.tag, InvalidType,
                           "a value of tag %u, expected %u", static_cast<unsigned>(output.tag),
                           static_cast<unsigned>(expected.tag));
  switch (expected.tag) {
    case Tag::Tensor:
      return compare_tensor(output.toTensor(), expected, tolerances, error);
    case Tag::Int:
      compare_number(output.toInt(), expected.integer, tolerances, error);
      return Error::Ok;
    case Tag::Bool:
      compare_number(output.toBool(), expected.boolean, tolerances, error);
      return Error::Ok;
    default:
      compare_number(output.toDouble(), expected.number, tolerances, error);
      return Error::Ok;
  }
}

}  // namespace executorch::bundled_program
