// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/portable_type/tensor_growth.h>

#include <string.h>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {

/// The parts of a tensor that change when it grows.
struct GrowingTensor {
  static Error grow(TensorGrowth& growth, size_t numel);
  static void release(TensorGrowth& growth);
  static void mark(etensor::TensorImpl& tensor) { tensor.grows_ = true; }
};

Error GrowingTensor::grow(TensorGrowth& growth, size_t numel) {
  etensor::TensorImpl& tensor = *growth.tensor;
  const auto element = static_cast<size_t>(tensor.element_size());
  const size_t before = tensor.numel_bound_;
  size_t bytes = 0;
  ET_CHECK_OR_RETURN_ERROR(!mul_overflows(numel, element, &bytes) && bytes <= PTRDIFF_MAX,
                           MemoryAllocationFailed,
                           "a tensor without bound of %zu elements of %zu bytes", numel, element);
  // A tensor that grows again probably grows in a loop: add half to limit the reallocations.
  const size_t half_more = before + before / 2;
  const size_t with_reserve = before > 0 && half_more > numel ? half_more * element : bytes;
  // A block must have room for the address of the block before it.
  constexpr size_t kMin = sizeof(void*);
  size_t room = with_reserve;
  void* block = growth.allocator->allocate(room > kMin ? room : kMin, TensorGrowth::kAlignment);
  if (block == nullptr && with_reserve > bytes) {
    room = bytes;
    block = growth.allocator->allocate(room, TensorGrowth::kAlignment);
  }
  ET_CHECK_OR_RETURN_ERROR(block != nullptr, MemoryAllocationFailed,
                           "the dynamic allocator lacks %zu bytes for an unbounded tensor", bytes);
  void* const old = tensor.data_;
  if (old != nullptr) {
    memcpy(block, old, tensor.nbytes());
    memcpy(old, &growth.outgrown, sizeof(growth.outgrown));
    growth.outgrown = old;
  }
  tensor.data_ = block;
  tensor.numel_bound_ = room / element;
  return Error::Ok;
}

void GrowingTensor::release(TensorGrowth& growth) {
  while (growth.outgrown != nullptr) {
    void* const block = growth.outgrown;
    memcpy(&growth.outgrown, block, sizeof(growth.outgrown));
    growth.allocator->free(block);
  }
  etensor::TensorImpl& tensor = *growth.tensor;
  if (tensor.data_ == nullptr) {
    return;
  }
  growth.allocator->free(tensor.data_);
  tensor.data_ = nullptr;
  tensor.numel_ = 0;
  tensor.numel_bound_ = 0;
  memset(growth.sizes, 0, tensor.dim_ * sizeof(*growth.sizes));
}

void make_growing(etensor::TensorImpl& tensor, DynamicAllocator* allocator, TensorGrowth* growth) {
  growth->grow = GrowingTensor::grow;
  growth->release = GrowingTensor::release;
  growth->allocator = allocator;
  growth->tensor = &tensor;
  growth->outgrown = nullptr;
  GrowingTensor::mark(tensor);
}

}  // namespace executorch::runtime::internal
