// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

// Returns false from a predicate after a log message, unless `cond`.
#define ET_INTERNAL_EXPECT(cond, ...) \
  do {                                \
    if (ET_UNLIKELY(!(cond))) {       \
      ET_LOG(Error, __VA_ARGS__);     \
      return false;                   \
    }                                 \
  } while (0)

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::tensor_shape_to_c_string;

bool dim_is_valid(int64_t dim, int64_t rank) {
  const int64_t limit = rank > 0 ? rank : 1;
  ET_INTERNAL_EXPECT(dim >= -limit && dim < limit,
                     "dimension %" PRId64 " is out of range [%" PRId64 ", %" PRId64 ")", dim,
                     -limit, limit);
  return true;
}

bool tensor_has_dim(Tensor tensor, int64_t dim) { return dim_is_valid(dim, tensor.dim()); }

bool tensor_is_rank(Tensor tensor, size_t rank) {
  ET_INTERNAL_EXPECT(static_cast<size_t>(tensor.dim()) == rank,
                     "expected a tensor of rank %zu, found %zd", rank,
                     static_cast<ssize_t>(tensor.dim()));
  return true;
}

bool tensor_has_rank_greater_or_equal_to(Tensor tensor, size_t rank) {
  ET_INTERNAL_EXPECT(static_cast<size_t>(tensor.dim()) >= rank,
                     "expected a tensor of rank at least %zu, found %zd", rank,
                     static_cast<ssize_t>(tensor.dim()));
  return true;
}

bool tensor_has_rank_smaller_or_equal_to(Tensor tensor, size_t rank) {
  ET_INTERNAL_EXPECT(static_cast<size_t>(tensor.dim()) <= rank,
                     "expected a tensor of rank at most %zu, found %zd", rank,
                     static_cast<ssize_t>(tensor.dim()));
  return true;
}

bool tensor_is_type(Tensor tensor, ScalarType type) {
  ET_INTERNAL_EXPECT(tensor.scalar_type() == type, "expected a tensor of dtype %s, found %s",
                     toString(type), toString(tensor.scalar_type()));
  return true;
}

bool tensor_is_scalar(Tensor tensor) { return tensor.dim() == 0 && tensor.numel() == 1; }

bool tensors_have_same_dtype(Tensor a, Tensor b) {
  ET_INTERNAL_EXPECT(a.scalar_type() == b.scalar_type(),
                     "expected tensors of one dtype, found %s and %s", toString(a.scalar_type()),
                     toString(b.scalar_type()));
  return true;
}

bool tensors_have_same_dtype(Tensor a, Tensor b, Tensor c) {
  return tensors_have_same_dtype(a, b) && tensors_have_same_dtype(b, c);
}

bool tensors_have_same_rank(Tensor a, Tensor b) {
  return tensor_is_rank(a, static_cast<size_t>(b.dim()));
}

bool tensors_have_same_shape(Tensor a, Tensor b) {
  if (a.numel() == 1 && b.numel() == 1) {
    return true;
  }
  ET_INTERNAL_EXPECT(a.sizes().equals(b.sizes()), "expected tensors of one shape, found %s and %s",
                     tensor_shape_to_c_string(a.sizes()).data(),
                     tensor_shape_to_c_string(b.sizes()).data());
  return true;
}

bool tensors_have_same_shape(Tensor a, Tensor b, Tensor c) {
  return tensors_have_same_shape(a, b) && tensors_have_same_shape(b, c);
}

bool tensors_have_same_shape_and_dtype(Tensor a, Tensor b) {
  return tensors_have_same_shape(a, b) && tensors_have_same_dtype(a, b);
}

bool tensors_have_same_shape_and_dtype(Tensor a, Tensor b, Tensor c) {
  return tensors_have_same_shape(a, b, c) && tensors_have_same_dtype(a, b, c);
}

bool tensors_have_same_strides(Tensor a, Tensor b) {
  ET_INTERNAL_EXPECT(
      a.strides().equals(b.strides()), "expected tensors of the same strides (shapes %s and %s)",
      tensor_shape_to_c_string(a.sizes()).data(), tensor_shape_to_c_string(b.sizes()).data());
  return true;
}

bool tensors_have_same_size_at_dims(Tensor a, size_t dim_a, Tensor b, size_t dim_b) {
  ET_INTERNAL_EXPECT(dim_a < static_cast<size_t>(a.dim()) && dim_b < static_cast<size_t>(b.dim()),
                     "dimensions %zu and %zu of tensors of rank %zd and %zd", dim_a, dim_b,
                     static_cast<ssize_t>(a.dim()), static_cast<ssize_t>(b.dim()));
  ET_INTERNAL_EXPECT(a.sizes()[dim_a] == b.sizes()[dim_b],
                     "expected one size at dimension %zu of %s and %zu of %s", dim_a,
                     tensor_shape_to_c_string(a.sizes()).data(), dim_b,
                     tensor_shape_to_c_string(b.sizes()).data());
  return true;
}

bool tensor_is_contiguous(Tensor tensor) {
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  // A tensor without strides has its elements in row-major order.
  int64_t expected = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    if (sizes[i] == 0) {
      return true;
    }
    ET_INTERNAL_EXPECT(sizes[i] == 1 || strides[i] == expected,
                       "expected a contiguous tensor, found stride %" PRId64 " and not %" PRId64
                       " at dimension %zu of %s",
                       static_cast<int64_t>(strides[i]), expected, i,
                       tensor_shape_to_c_string(sizes).data());
    expected *= sizes[i];
  }
  return true;
}

size_t getLeadingDims(const Tensor& tensor, int64_t dim) {
  ET_CHECK_MSG(dim >= 0 && dim <= tensor.dim(), "dimension %" PRId64 " of rank %zd", dim,
               static_cast<ssize_t>(tensor.dim()));
  size_t product = 1;
  for (int64_t i = 0; i < dim; ++i) {
    if (executorch::runtime::mul_overflows(
            product, static_cast<size_t>(tensor.sizes()[static_cast<size_t>(i)]), &product)) {
      return 0;  // another size is 0: the tensor is empty
    }
  }
  return product;
}

size_t getTrailingDims(const Tensor& tensor, int64_t dim) {
  ET_CHECK_MSG(dim >= -1 && dim < tensor.dim(), "dimension %" PRId64 " of rank %zd", dim,
               static_cast<ssize_t>(tensor.dim()));
  size_t product = 1;
  for (int64_t i = dim + 1; i < tensor.dim(); ++i) {
    if (executorch::runtime::mul_overflows(
            product, static_cast<size_t>(tensor.sizes()[static_cast<size_t>(i)]), &product)) {
      return 0;  // another size is 0: the tensor is empty
    }
  }
  return product;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
