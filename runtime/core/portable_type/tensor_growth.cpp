// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/portable_type/tensor_growth.h>

#include <string.h>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {

Error TensorGrowth::grow(size_t numel) {
  const auto element = static_cast<size_t>(tensor->element_size());
  const size_t before = tensor->numel_bound_;
  size_t bytes = 0;
  ET_CHECK_OR_RETURN_ERROR(!mul_overflows(numel, element, &bytes) && bytes <= PTRDIFF_MAX,
                           MemoryAllocationFailed,
                           "a tensor without bound of %zu elements of %zu bytes", numel, element);
  // What grows again, grows in a loop: half as much more keeps the number of times small.
  const size_t half_more = before + before / 2;
  const size_t generous = before > 0 && half_more > numel ? half_more * element : bytes;
  // The address of the block before must fit.
  const size_t least = sizeof(void*);
  void* block = allocator->allocate(generous > least ? generous : least, kAlignment);
  size_t room = generous;
  if (block == nullptr && generous > bytes) {
    room = bytes;
    block = allocator->allocate(bytes, kAlignment);
  }
  ET_CHECK_OR_RETURN_ERROR(block != nullptr, MemoryAllocationFailed,
                           "the dynamic allocator has no %zu bytes for a tensor without bound",
                           bytes);
  void* const old = tensor->data_;
  if (old != nullptr) {
    memcpy(block, old, tensor->nbytes());
    memcpy(old, &outgrown, sizeof(outgrown));
    outgrown = old;
  }
  tensor->data_ = block;
  tensor->numel_bound_ = room / element;
  return Error::Ok;
}

void TensorGrowth::release() {
  while (outgrown != nullptr) {
    void* const block = outgrown;
    memcpy(&outgrown, block, sizeof(outgrown));
    allocator->free(block);
  }
  if (tensor->data_ != nullptr) {
    allocator->free(tensor->data_);
  }
  tensor->data_ = nullptr;
  tensor->numel_ = 0;
  tensor->numel_bound_ = 0;
  for (uint8_t dim = 0; dim < tensor->dim_; ++dim) {
    sizes[dim] = 0;
  }
}

void release_all(Span<TensorGrowth> growths) {
  for (TensorGrowth& growth : growths) {
    if (growth.tensor != nullptr) {
      growth.release();
    }
  }
}

}  // namespace executorch::runtime::internal

// The symbol by which linking the target asks for this object file.
const int executorch_link_unbounded_tensors = 0;
