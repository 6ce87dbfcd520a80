// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory functions for at::Tensor; tensor_memory_portable.cpp has those for portable tensors.
//
// A program's tensor is an at::Tensor over memory that it does not own. The size of its storage is
// the tensor's capacity and is fixed, except for unbounded tensors. ATen lacks static tensors:
// every tensor may be resized within its capacity. ATen also lacks a dim order, so it is derived
// from the strides; if sizes of 1 make it ambiguous, dimensions keep their natural order.
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_growth.h>
#include <executorch/runtime/core/exec_aten/util/tensor_over_memory.h>
#include <executorch/runtime/core/exec_aten/util/tensor_rebind.h>

#ifdef USE_ATEN_LIB

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

using at::Tensor;
using executorch::runtime::kTensorDimensionLimit;

namespace {

/// Computes the strides of these sizes in the tensor's dim order, and the bytes that they take.
Error lay_out(const Tensor& tensor, at::IntArrayRef sizes, int64_t* strides, size_t* bytes) {
  const auto rank = static_cast<size_t>(tensor.dim());
  ET_CHECK_OR_RETURN_ERROR(sizes.size() == rank, NotSupported,
                           "a tensor of rank %zu for sizes of rank %zu", rank, sizes.size());
  *bytes = tensor.element_size();
  for (const int64_t size : sizes) {
    ET_CHECK_OR_RETURN_ERROR(
        size >= 0 && !executorch::runtime::mul_overflows(*bytes, static_cast<size_t>(size), bytes),
        InvalidArgument, "size %lld is negative, or the bytes are too many to count",
        static_cast<long long>(size));
  }
  uint8_t order[kTensorDimensionLimit];
  ET_CHECK_OK_OR_RETURN_ERROR(get_dim_order(tensor, order, rank));
  return executorch::runtime::dim_order_to_stride(sizes.data(), order, rank, strides);
}

c10::DataPtr borrowed(void* data) { return {data, c10::Device(c10::kCPU)}; }

}  // namespace

Error resize_tensor(Tensor tensor, at::IntArrayRef sizes) {
  if (tensor.sizes() == sizes) {
    return Error::Ok;
  }
  int64_t strides[kTensorDimensionLimit];
  size_t bytes = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(lay_out(tensor, sizes, strides, &bytes));
  internal::TensorGrowth* growth =
      bytes <= internal::capacity_bytes(tensor) ? nullptr : internal::growth_of(tensor);
  if (growth != nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(growth->reserve(bytes));
  }
  ET_CHECK_OR_RETURN_ERROR(bytes <= internal::capacity_bytes(tensor), NotSupported,
                           "a tensor of at most %zu bytes resized to %s",
                           internal::capacity_bytes(tensor),
                           tensor_shape_to_c_string(sizes).data());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, {strides, sizes.size()});
  return Error::Ok;
}

bool may_resize(const Tensor&) { return true; }

Error get_dim_order(const Tensor& tensor, uint8_t* out_dim_order, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(size == tensor.strides().size(), InvalidArgument,
                           "room for a dim order of %zu, the tensor's has %zu", size,
                           tensor.strides().size());
  return executorch::runtime::stride_to_dim_order(tensor.strides().data(), size, out_dim_order);
}

namespace internal {

bool has_growing_memory(const Tensor& tensor) { return growth_of(tensor) != nullptr; }

size_t capacity_bytes(const Tensor& tensor) {
  const size_t before = static_cast<size_t>(tensor.storage_offset()) * tensor.element_size();
  return tensor.storage().nbytes() - before;
}

Error set_tensor_data(const Tensor& tensor, void* buffer, size_t buffer_size) {
  ET_CHECK_OR_RETURN_ERROR(buffer_size >= tensor.nbytes(), InvalidArgument,
                           "a buffer of %zu bytes for a tensor of %zu", buffer_size,
                           tensor.nbytes());
  ET_CHECK_OR_RETURN_ERROR(!has_growing_memory(tensor), NotSupported,
                           "a tensor without bound has memory of its own");
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  storage.set_data_ptr_noswap(borrowed(buffer));
  return Error::Ok;
}

void reset_data_ptr(const Tensor& tensor) {
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(borrowed(nullptr));
}

Error rebind_tensor(const Tensor& tensor, at::IntArrayRef sizes, void* data) {
  ET_CHECK_OR_RETURN_ERROR(!has_growing_memory(tensor), NotSupported,
                           "a tensor without bound has memory of its own");
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(data) % tensor.element_size() == 0,
                           InvalidArgument, "memory at %p: expected alignment to %zu-byte elements",
                           data, static_cast<size_t>(tensor.element_size()));
  int64_t strides[kTensorDimensionLimit];
  size_t bytes = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(lay_out(tensor, sizes, strides, &bytes));
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  storage.set_data_ptr_noswap(borrowed(data));
  storage.set_nbytes(bytes);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, {strides, sizes.size()});
  return Error::Ok;
}

Tensor tensor_over_memory(at::ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides,
                          void* data, size_t bytes) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, borrowed(data),
                       /*allocator=*/nullptr, /*resizable=*/false);
  Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

#endif  // USE_ATEN_LIB
