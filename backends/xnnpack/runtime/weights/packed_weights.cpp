// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>

#include <string.h>

#include <algorithm>
#include <iterator>
#include <set>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>

namespace executorch::backends::xnnpack {

std::shared_ptr<PackedBlock> PackedBlock::allocate(size_t size) {
  const auto memory = std::make_shared<DelegateBlock>();
  if (!memory->grow(std::max<size_t>(size, 1))) {
    return nullptr;
  }
  memset(memory->data(), 0, size);
  return std::make_shared<PackedBlock>(memory->data(), size, memory);
}

PackedWeights& PackedWeights::of_process() {
  // Never destroyed: delegates may be destroyed after static objects.
  static auto* all = new PackedWeights();
  return *all;
}

namespace {

/// A digest of a sample of bytes, which distinguishes most contents.
Digest sample_of(const PackedBlock& block) {
  constexpr size_t kSamples = 16;
  constexpr size_t kBytes = 64;
  const auto* const bytes = static_cast<const char*>(block.data());
  const size_t length = std::min(kBytes, block.size());
  Digester digester;
  digester.add_value(static_cast<uint64_t>(block.size()));
  for (size_t i = 0; i < kSamples; ++i) {
    digester.add(bytes + (block.size() - length) / kSamples * i, length);
  }
  return digester.finish();
}

void forget_freed(std::map<Digest, std::weak_ptr<PackedBlock>>& blocks) {
  for (auto it = blocks.begin(); it != blocks.end();) {
    it = it->second.expired() ? blocks.erase(it) : std::next(it);
  }
}

}  // namespace

std::shared_ptr<PackedBlock> PackedWeights::find(const Digest& key) const {
  const auto entry = by_key_.find(key);
  return entry == by_key_.end() ? nullptr : entry->second.lock();
}

void PackedWeights::insert(const Digest& key, const std::shared_ptr<PackedBlock>& block) {
  if (by_key_.size() >= full_) {
    forget_freed(by_key_);
    forget_freed(by_sample_);
    full_ = 2 * by_key_.size() + kFull;
  }
  by_key_[key] = block;
}

std::shared_ptr<PackedBlock> PackedWeights::one_of_equal(
    const std::shared_ptr<PackedBlock>& packed) {
  std::weak_ptr<PackedBlock>& known = by_sample_[sample_of(*packed)];
  std::shared_ptr<PackedBlock> other = known.lock();
  if (other != nullptr && other->size() == packed->size() &&
      memcmp(other->data(), packed->data(), packed->size()) == 0) {
    return other;
  }
  known = packed;
  return packed;
}

PackedWeights::Size PackedWeights::size() {
  const std::unique_lock<std::mutex> lock = lock_creation();
  std::set<std::shared_ptr<PackedBlock>> blocks;
  for (const auto& [key, block] : by_key_) {
    blocks.insert(block.lock());
  }
  blocks.erase(nullptr);
  Size size;
  for (const std::shared_ptr<PackedBlock>& block : blocks) {
    ++size.blocks;
    size.bytes += block->size();
  }
  return size;
}

}  // namespace executorch::backends::xnnpack
