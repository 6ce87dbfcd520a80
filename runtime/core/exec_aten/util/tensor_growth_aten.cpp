// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/tensor_growth.h>

#ifdef USE_ATEN_LIB

#include <string.h>

#include <utility>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

using executorch::runtime::DynamicAllocator;

namespace {

/// In front of a block's elements.
struct BlockHeader {
  TensorGrowth* owner;
  void* previous;
};
static_assert(sizeof(BlockHeader) <= TensorGrowth::kAlignment, "elements would not be aligned");

}  // namespace

c10::DataPtr TensorGrowth::allocate_block(size_t bytes) {
  void* block = nullptr;
  if (bytes <= PTRDIFF_MAX - kAlignment) {
    block = allocator_->allocate(kAlignment + bytes, kAlignment);
  }
  if (block == nullptr) {
    ET_LOG(Error, "the dynamic allocator lacks %zu bytes for an unbounded tensor", bytes);
    return {};
  }
  new (block) BlockHeader{this, nullptr};
  return {static_cast<uint8_t*>(block) + kAlignment, block, &TensorGrowth::outgrow,
          c10::Device(c10::kCPU)};
}

void TensorGrowth::outgrow(void* block) {
  auto* header = static_cast<BlockHeader*>(block);
  header->previous = std::exchange(header->owner->outgrown_, block);
}

c10::DataPtr TensorGrowth::allocate(size_t bytes) {
  c10::DataPtr block = allocate_block(bytes);
  TORCH_CHECK(block, "no ", bytes, " bytes for a tensor without bound");
  return block;
}

Error TensorGrowth::reserve(size_t bytes) {
  c10::StorageImpl& storage = *tensor->unsafe_storage().unsafeGetStorageImpl();
  const size_t before = storage.nbytes();
  // A tensor that grows again probably grows in a loop: add half to limit the number of
  // reallocations.
  size_t room = before + before / 2 > bytes ? before + before / 2 : bytes;
  c10::DataPtr block = allocate_block(room);
  if (!block && room > bytes) {
    room = bytes;
    block = allocate_block(room);
  }
  if (!block) {
    return Error::MemoryAllocationFailed;
  }
  if (before > 0) {
    memcpy(block.get(), storage.data(), before);
  }
  storage.set_data_ptr_noswap(std::move(block));
  storage.set_nbytes(room);
  return Error::Ok;
}

void TensorGrowth::make_empty(at::IntArrayRef sizes) {
  tensor->set_sizes_and_strides(sizes, {empty_strides_, sizes.size()});
}

void TensorGrowth::release(TensorGrowth& growth) {
  c10::StorageImpl& storage = *growth.tensor->unsafe_storage().unsafeGetStorageImpl();
  if (storage.data() != nullptr) {
    constexpr int64_t kZeros[executorch::runtime::kTensorDimensionLimit] = {};
    storage.set_data_ptr_noswap({nullptr, c10::Device(c10::kCPU)});
    storage.set_nbytes(0);
    growth.make_empty({kZeros, static_cast<size_t>(growth.tensor->dim())});
  }
  while (growth.outgrown_ != nullptr) {
    void* const block = growth.outgrown_;
    growth.outgrown_ = static_cast<BlockHeader*>(block)->previous;
    growth.allocator_->free(block);
  }
}

at::Tensor make_growing_tensor(at::ScalarType type, Span<const int32_t> sizes,
                               Span<const uint8_t> dim_order, DynamicAllocator* allocator,
                               TensorGrowth* growth) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0,
                       c10::DataPtr(nullptr, c10::Device(c10::kCPU)), growth, /*resizable=*/true);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(type));
  growth->tensor = tensor.unsafeGetTensorImpl();
  growth->allocator_ = allocator;
  // Strides of a tensor with two elements in each dimension.
  int64_t stride = 1;
  for (size_t i = dim_order.size(); i-- > 0;) {
    growth->empty_strides_[dim_order[i]] = stride;
    stride *= 2;
  }
  int64_t wide[executorch::runtime::kTensorDimensionLimit];
  for (size_t i = 0; i < sizes.size(); ++i) {
    wide[i] = sizes[i];
  }
  growth->make_empty({wide, sizes.size()});
  return tensor;
}

TensorGrowth* growth_of(const at::Tensor& tensor) {
  c10::StorageImpl& storage =
      *tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  return storage.resizable() ? dynamic_cast<TensorGrowth*>(storage.allocator()) : nullptr;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

#endif  // USE_ATEN_LIB
