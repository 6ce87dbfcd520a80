// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/tensor/tensor_ptr.h>

#include <string.h>

#include <algorithm>
#include <numeric>

#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

namespace executorch::extension {
namespace {

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::aten::TensorShapeDynamism;

/// All that a TensorPtr points into; the shared pointer shares this and shows `tensor`.
struct Storage {
  std::vector<SizesType> sizes;
  std::vector<DimOrderType> dim_order;
  std::vector<StridesType> strides;
  std::function<void(void*)> deleter;
  TensorImpl impl;
  Tensor tensor;

  Storage(std::vector<SizesType>&& sizes_in, std::vector<DimOrderType>&& dim_order_in,
          std::vector<StridesType>&& strides_in, void* data, ScalarType type,
          TensorShapeDynamism dynamism, std::function<void(void*)>&& deleter_in,
          executorch::aten::Device device)
      : sizes(std::move(sizes_in)),
        dim_order(std::move(dim_order_in)),
        strides(std::move(strides_in)),
        deleter(std::move(deleter_in)),
        impl(type, static_cast<ssize_t>(sizes.size()), sizes.data(), data, dim_order.data(),
             strides.data(), dynamism, device.type(), device.index()),
        tensor(&impl) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (deleter) {
      deleter(impl.mutable_data());
    }
  }
};

/// From the outermost dimension in memory to the innermost.
std::vector<DimOrderType> dim_order_of(size_t rank, const std::vector<StridesType>& strides) {
  std::vector<DimOrderType> order(rank);
  std::iota(order.begin(), order.end(), DimOrderType{0});
  if (!strides.empty()) {
    std::stable_sort(order.begin(), order.end(),
                     [&](DimOrderType a, DimOrderType b) { return strides[a] > strides[b]; });
  }
  return order;
}

bool is_permutation_of_dims(const std::vector<DimOrderType>& dim_order) {
  std::vector<bool> seen(dim_order.size());
  for (const DimOrderType dim : dim_order) {
    if (dim >= seen.size() || seen[dim]) {
      return false;
    }
    seen[dim] = true;
  }
  return true;
}

std::vector<StridesType> dense_strides(const std::vector<SizesType>& sizes,
                                       const std::vector<DimOrderType>& dim_order) {
  std::vector<StridesType> strides(sizes.size());
  ET_CHECK_MSG(runtime::dim_order_to_stride_nocheck(sizes.data(), dim_order.data(), sizes.size(),
                                                    strides.data()),
               "the sizes need strides that do not fit");
  return strides;
}

/// The stride of a dimension of one element or none is never used.
bool strides_agree(const std::vector<StridesType>& given, const std::vector<StridesType>& dense,
                   const std::vector<SizesType>& sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && given[i] != dense[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool can_make_tensor(const std::vector<SizesType>& sizes, ScalarType type) {
  const std::vector<DimOrderType> order = dim_order_of(sizes.size(), {});
  std::vector<StridesType> strides(sizes.size());
  return executorch::aten::safe_nbytes(type, sizes.data(), static_cast<ssize_t>(sizes.size()))
             .ok() &&
         runtime::dim_order_to_stride_nocheck(sizes.data(), order.data(), sizes.size(),
                                              strides.data());
}

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, void* data,
                          std::vector<DimOrderType> dim_order, std::vector<StridesType> strides,
                          ScalarType type, TensorShapeDynamism dynamism,
                          std::function<void(void*)> deleter, executorch::aten::Device device) {
  const size_t rank = sizes.size();
  const auto nbytes = executorch::aten::safe_nbytes(type, sizes.data(), static_cast<ssize_t>(rank));
  ET_CHECK_MSG(nbytes.ok(), "the sizes do not describe a tensor");
  ET_CHECK_MSG(dim_order.empty() || dim_order.size() == rank, "dim order has %zu entries, rank %zu",
               dim_order.size(), rank);
  ET_CHECK_MSG(strides.empty() || strides.size() == rank, "strides have %zu entries, rank %zu",
               strides.size(), rank);
  if (dim_order.empty()) {
    dim_order = dim_order_of(rank, strides);
  }
  ET_CHECK_MSG(is_permutation_of_dims(dim_order), "the dim order is not a permutation");
  std::vector<StridesType> dense = dense_strides(sizes, dim_order);
  ET_CHECK_MSG(strides.empty() || strides_agree(strides, dense, sizes),
               "the strides do not describe dense memory in the tensor's dim order");
  auto storage = std::make_shared<Storage>(std::move(sizes), std::move(dim_order), std::move(dense),
                                           data, type, dynamism, std::move(deleter), device);
  return TensorPtr(storage, &storage->tensor);
}

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<uint8_t> data,
                          std::vector<DimOrderType> dim_order, std::vector<StridesType> strides,
                          ScalarType type, TensorShapeDynamism dynamism) {
  const auto nbytes =
      executorch::aten::safe_nbytes(type, sizes.data(), static_cast<ssize_t>(sizes.size()));
  ET_CHECK_MSG(nbytes.ok() && *nbytes == data.size(),
               "%zu bytes of data do not match sizes and dtype", data.size());
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(data));
  void* bytes = owner->data();
  return make_tensor_ptr(std::move(sizes), bytes, std::move(dim_order), std::move(strides), type,
                         dynamism, [owner](void*) {});
}

TensorPtr make_tensor_ptr(const Tensor& tensor, std::vector<SizesType> sizes,
                          std::vector<DimOrderType> dim_order, std::vector<StridesType> strides,
                          std::function<void(void*)> deleter) {
  if (sizes.empty()) {
    sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  }
  const auto numel = executorch::aten::safe_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  ET_CHECK_MSG(numel.ok() && *numel <= tensor.numel(),
               "a view needs more elements than the tensor's %zd",
               static_cast<ssize_t>(tensor.numel()));
  const bool same_rank = sizes.size() == static_cast<size_t>(tensor.dim());
  if (dim_order.empty() && strides.empty() && same_rank) {
    dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  }
  return make_tensor_ptr(std::move(sizes), tensor.mutable_data_ptr(), std::move(dim_order),
                         std::move(strides), tensor.scalar_type(), tensor.shape_dynamism(),
                         std::move(deleter), tensor.device());
}

TensorPtr clone_tensor_ptr(const Tensor& tensor, ScalarType type) {
  const size_t count = static_cast<size_t>(tensor.numel());
  const void* source = tensor.const_data_ptr();
  ET_CHECK_MSG(type == tensor.scalar_type() || converts_to(tensor.scalar_type(), type),
               "elements of %s cannot be converted to %s", runtime::toString(tensor.scalar_type()),
               runtime::toString(type));
  if (source == nullptr && count > 0) {
    return make_tensor_ptr({tensor.sizes().begin(), tensor.sizes().end()}, nullptr,
                           {tensor.dim_order().begin(), tensor.dim_order().end()}, {}, type,
                           tensor.shape_dynamism());
  }
  std::vector<uint8_t> bytes(count * runtime::elementSize(type));
  if (type == tensor.scalar_type()) {
    if (!bytes.empty()) {
      memcpy(bytes.data(), source, bytes.size());
    }
  } else {
    bool converted = false;
    const bool readable = visit_number_type(tensor.scalar_type(), [&](auto element) {
      using From = typename decltype(element)::type;
      converted = convert_elements(static_cast<const From*>(source), count, type, bytes.data());
    });
    ET_CHECK_MSG(readable && converted, "elements of %s cannot be converted to %s",
                 runtime::toString(tensor.scalar_type()), runtime::toString(type));
  }
  return make_tensor_ptr({tensor.sizes().begin(), tensor.sizes().end()}, std::move(bytes),
                         {tensor.dim_order().begin(), tensor.dim_order().end()}, {}, type,
                         tensor.shape_dynamism());
}

#ifndef USE_ATEN_LIB
TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, executorch::aten::Device target) {
  const executorch::aten::Device source = tensor->device();
  if (source.is_cpu() && target.is_cpu()) {
    return clone_tensor_ptr(tensor);
  }
  ET_CHECK_MSG(source.is_cpu() || target.is_cpu(),
               "copy the tensor to the CPU first: neither device is the CPU");
  const executorch::aten::Device device = source.is_cpu() ? target : source;
  runtime::DeviceAllocator* const allocator = runtime::get_device_allocator(device.type());
  ET_CHECK_MSG(allocator != nullptr, "no allocator is registered for device type %d",
               static_cast<int>(device.type()));
  const size_t nbytes = tensor->nbytes();
  const void* const from = tensor->const_data_ptr();
  const std::vector<SizesType> sizes(tensor->sizes().begin(), tensor->sizes().end());
  const std::vector<DimOrderType> dim_order(tensor->dim_order().begin(), tensor->dim_order().end());
  if (target.is_cpu()) {
    std::vector<uint8_t> bytes(nbytes);
    ET_CHECK_MSG(allocator->copy_device_to_host(bytes.data(), from, nbytes, device.index()) ==
                     runtime::Error::Ok,
                 "%zu bytes cannot be copied from a device", nbytes);
    return make_tensor_ptr(sizes, std::move(bytes), dim_order, {}, tensor->scalar_type(),
                           tensor->shape_dynamism());
  }
  const auto memory = allocator->allocate(nbytes, device.index());
  ET_CHECK_MSG(memory.ok(), "%zu bytes cannot be allocated on a device", nbytes);
  void* const data = *memory;
  ET_CHECK_MSG(
      allocator->copy_host_to_device(data, from, nbytes, device.index()) == runtime::Error::Ok,
      "%zu bytes cannot be copied to a device", nbytes);
  return make_tensor_ptr(
      sizes, data, dim_order, {}, tensor->scalar_type(), tensor->shape_dynamism(),
      [allocator, device](void* ptr) { allocator->deallocate(ptr, device.index()); }, device);
}
#endif

runtime::Error resize_tensor_ptr(TensorPtr& tensor, const std::vector<SizesType>& sizes) {
  ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidArgument, "a null TensorPtr to resize");
  return tensor->unsafeGetTensorImpl()->resize_contiguous({sizes.data(), sizes.size()});
}

}  // namespace executorch::extension
