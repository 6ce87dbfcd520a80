// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/packed_weights.h>

#include <stdlib.h>
#include <string.h>

#include <iterator>

namespace executorch::backends::xnnpack {

std::shared_ptr<PackedBlock> PackedBlock::allocate(size_t size) {
  // What XNNPACK aligns its own memory to.
  constexpr size_t kAlignment = 64;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, size) != 0) {
    return nullptr;
  }
  memset(memory, 0, size);
  return std::make_shared<PackedBlock>(memory, size, std::shared_ptr<const void>(memory, free));
}

PackedWeights& PackedWeights::of_process() {
  // Never destroyed: delegates may end after static objects do.
  static auto* all = new PackedWeights();
  return *all;
}

std::shared_ptr<PackedBlock> PackedWeights::find(const Digest& key) const {
  const auto found = blocks_.find(key);
  return found == blocks_.end() ? nullptr : found->second.lock();
}

void PackedWeights::insert(const Digest& key, const std::shared_ptr<PackedBlock>& block) {
  blocks_[key] = block;
}

PackedWeights::Size PackedWeights::size() {
  const std::unique_lock<std::mutex> lock = lock_creation();
  Size size;
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const std::shared_ptr<PackedBlock> block = it->second.lock();
    if (block == nullptr) {
      it = blocks_.erase(it);
      continue;
    }
    ++size.blocks;
    size.bytes += block->size();
    ++it;
  }
  return size;
}

}  // namespace executorch::backends::xnnpack
