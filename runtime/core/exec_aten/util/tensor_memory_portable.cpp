// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What changes a portable tensor's sizes and memory, and its dim order. (at::Tensor has its own
// ways to do the same.)
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <string.h>

#ifndef USE_ATEN_LIB

namespace executorch::runtime {

using etensor::Tensor;
using etensor::TensorImpl;

Error resize_tensor(Tensor tensor, ArrayRef<TensorImpl::SizesType> sizes) {
  return tensor.unsafeGetTensorImpl()->resize_contiguous(sizes);
}

Error resize_tensor(Tensor tensor, ArrayRef<int64_t> sizes) {
  TensorImpl::SizesType narrow[kTensorDimensionLimit];
  ET_CHECK_OR_RETURN_ERROR(sizes.size() <= kTensorDimensionLimit, NotSupported,
                           "a tensor resized to rank %zu, at most %zu is supported", sizes.size(),
                           kTensorDimensionLimit);
  for (size_t i = 0; i < sizes.size(); ++i) {
    narrow[i] = static_cast<TensorImpl::SizesType>(sizes[i]);
    ET_CHECK_OR_RETURN_ERROR(narrow[i] == sizes[i], InvalidArgument,
                             "size %" PRId64 " at dimension %zu does not fit 32 bits", sizes[i], i);
  }
  return resize_tensor(tensor, ArrayRef<TensorImpl::SizesType>(narrow, sizes.size()));
}

Error get_dim_order(const Tensor& tensor, TensorImpl::DimOrderType* out_dim_order, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(size == tensor.dim_order().size(), InvalidArgument,
                           "room for a dim order of %zu, the tensor's has %zu", size,
                           tensor.dim_order().size());
  for (size_t i = 0; i < size; ++i) {
    out_dim_order[i] = tensor.dim_order()[i];
  }
  return Error::Ok;
}

bool tensor_has_valid_dim_order(Tensor tensor) {
  const auto order = tensor.dim_order();
  const bool valid = order.size() == static_cast<size_t>(tensor.dim()) &&
                     validate_dim_order(order.data(), order.size());
  if (!valid) {
    ET_LOG(Error, "the dim order of a tensor of rank %zd is no permutation", tensor.dim());
  }
  return valid;
}

bool tensor_is_default_dim_order(Tensor tensor) {
  const auto order = tensor.dim_order();
  return is_contiguous_dim_order(order.data(), order.size());
}

bool tensor_is_channels_last_dim_order(Tensor tensor) {
  const auto order = tensor.dim_order();
  return is_channels_last_dim_order(order.data(), order.size());
}

bool tensor_is_default_or_channels_last_dim_order(Tensor tensor) {
  const bool is = tensor_is_default_dim_order(tensor) || tensor_is_channels_last_dim_order(tensor);
  if (!is) {
    ET_LOG(Error, "expected a contiguous or channels-last dim order (shape %s)",
           tensor_shape_to_c_string(tensor.sizes()).data());
  }
  return is;
}

namespace {

// True if walking the dimensions longer than 1 in either order is the same walk, for tensors of the
// same sizes at those dimensions' places; otherwise the orders must be equal.
bool same_memory_order(const Tensor& a, const Tensor& b) {
  const auto order_a = a.dim_order();
  const auto order_b = b.dim_order();
  if (order_a.equals(order_b)) {
    return true;
  }
  if (order_a.size() != order_b.size()) {
    return false;
  }
  size_t at_b = 0;
  for (const auto dim : order_a) {
    if (a.sizes()[dim] == 1 && b.sizes()[dim] == 1) {
      continue;
    }
    while (at_b < order_b.size() && a.sizes()[order_b[at_b]] == 1 &&
           b.sizes()[order_b[at_b]] == 1) {
      ++at_b;
    }
    if (at_b == order_b.size() || order_b[at_b] != dim) {
      return false;
    }
    ++at_b;
  }
  return true;
}

}  // namespace

bool tensors_have_same_dim_order(Span<const Tensor> tensors) {
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (!same_memory_order(tensors[0], tensors[i])) {
      ET_LOG(Error, "expected tensors of one dim order; numbers 0 (shape %s) and %zu (%s) differ",
             tensor_shape_to_c_string(tensors[0].sizes()).data(), i,
             tensor_shape_to_c_string(tensors[i].sizes()).data());
      return false;
    }
  }
  return true;
}

namespace internal {

Error share_tensor_data(const Tensor& to, const Tensor& from) {
  ET_CHECK_OR_RETURN_ERROR(to.nbytes() == from.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot share the memory of one of %zu",
                           to.nbytes(), from.nbytes());
  to.unsafeGetTensorImpl()->set_data(from.mutable_data_ptr());
  return Error::Ok;
}

Error copy_tensor_data(const Tensor& to, const Tensor& from) {
  ET_CHECK_OR_RETURN_ERROR(to.nbytes() == from.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot be copied to one of %zu", from.nbytes(),
                           to.nbytes());
  if (to.nbytes() == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(to.const_data_ptr() != nullptr && from.const_data_ptr() != nullptr,
                           InvalidArgument, "a tensor of %zu bytes has no memory", to.nbytes());
  // Both may be the same memory: an input that is set to itself.
  memmove(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes());
  return Error::Ok;
}

Error set_tensor_data(const Tensor& tensor, void* buffer, size_t buffer_size) {
  ET_CHECK_OR_RETURN_ERROR(buffer_size >= tensor.nbytes(), InvalidArgument,
                           "a buffer of %zu bytes for a tensor of %zu", buffer_size,
                           tensor.nbytes());
  tensor.unsafeGetTensorImpl()->set_data(buffer);
  return Error::Ok;
}

void reset_data_ptr(const Tensor& tensor) { tensor.unsafeGetTensorImpl()->set_data(nullptr); }

}  // namespace internal
}  // namespace executorch::runtime

#endif  // USE_ATEN_LIB
