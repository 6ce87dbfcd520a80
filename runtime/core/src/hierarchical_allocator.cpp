// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/hierarchical_allocator.h>

namespace executorch::runtime {

Result<void*> HierarchicalAllocator::get_offset_address(uint32_t memory_id, size_t offset_bytes,
                                                        size_t size_bytes) {
  ET_CHECK_OR_RETURN_ERROR(memory_id < num_buffers(), InvalidArgument,
                           "planned buffer %" PRIu32 " requested, there are %zu", memory_id,
                           num_buffers());
  ET_CHECK_OR_RETURN_ERROR(size_bytes <= SIZE_MAX - offset_bytes, InvalidArgument,
                           "%zu bytes at offset %zu end beyond the address space", size_bytes,
                           offset_bytes);
  const Span<uint8_t> buffer = this->buffer(memory_id);
  ET_CHECK_OR_RETURN_ERROR(offset_bytes + size_bytes <= buffer.size(), MemoryAllocationFailed,
                           "%zu bytes at offset %zu do not fit planned buffer %" PRIu32
                           " of %zu bytes",
                           size_bytes, offset_bytes, memory_id, buffer.size());
  ET_CHECK_OR_RETURN_ERROR(buffer.data() != nullptr || size_bytes == 0, MemoryAllocationFailed,
                           "planned buffer %" PRIu32 " of %zu bytes is a null pointer", memory_id,
                           buffer.size());
  return static_cast<void*>(buffer.data() + offset_bytes);
}

}  // namespace executorch::runtime
