// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/weights_session.h>

#include <utility>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/extension/memory_allocator/large_pages.h>

namespace executorch::backends::xnnpack {

using extension::kLargePage;

namespace {

/// A part of an arena, which it keeps alive.
struct ArenaPiece {
  std::shared_ptr<PackedArena> arena;
  extension::TakenBytes bytes{delegate_bytes()};
};

}  // namespace

WeightsSession::WeightsSession(WeightKeys keys, std::shared_ptr<PackedFile> file, size_t unpacked)
    : keys_(std::move(keys)), file_(std::move(file)), unpacked_(unpacked) {}

void WeightsSession::finish() {
  is_finished_ = true;
  drop_reserved();
  if (arena_ != nullptr) {
    arena_->close();
    arena_.reset();
  }
  file_.reset();
  keys_.reset();
}

bool WeightsSession::find_key(const UnpackedWeights& weights, Digest* key) {
  return keys_ && keys_->find(weights.layout, weights.filter, weights.bias, key);
}

std::shared_ptr<PackedBlock> WeightsSession::find(const UnpackedWeights& weights) {
  Digest key;
  if (!find_key(weights, &key)) {
    return nullptr;
  }
  PackedWeights& all = PackedWeights::of_process();
  std::shared_ptr<PackedBlock> block = all.find(key);
  if (block == nullptr && file_ != nullptr) {
    block = file_->find(key);
    if (block != nullptr) {
      all.insert(key, block);
    }
  } else if (block != nullptr && file_ != nullptr) {
    file_->add(key, block);
  }
  return block;
}

const void* WeightsSession::look_up(const UnpackedWeights& weights) {
  std::shared_ptr<PackedBlock> block = find(weights);
  return block == nullptr ? nullptr : use(std::move(block));
}

void* WeightsSession::reserve(size_t size, bool overwritten) {
  reserved_ = allocate(size, overwritten);
  return reserved_ == nullptr ? nullptr : const_cast<void*>(reserved_->data());
}

std::shared_ptr<PackedBlock> WeightsSession::allocate(size_t size, bool overwritten) {
  if (arena_ == nullptr && unpacked_ >= kLargePage) {
    // Packing adds biases, and pads columns to whole tiles. The size includes unpacked weights.
    arena_ = PackedArena::create(unpacked_ + unpacked_ / 2, unpacked_ - unpacked_ / 4);
  }
  const auto owner = std::make_shared<ArenaPiece>();
  if (arena_ != nullptr && owner->bytes.take(size, max_delegate_bytes())) {
    if (void* const piece = arena_->take(size, overwritten)) {
      owner->arena = arena_;
      return std::make_shared<PackedBlock>(piece, size, owner);
    }
  }
  owner->bytes.resize(0);
  return PackedBlock::allocate(size);
}

void WeightsSession::drop_reserved() {
  if (reserved_ != nullptr && arena_ != nullptr) {
    arena_->give_back(const_cast<void*>(reserved_->data()));
  }
  reserved_.reset();
}

const void* WeightsSession::look_up_or_insert(const UnpackedWeights& weights, const void* packed) {
  const void* const known = look_up(weights);
  if (known != nullptr) {
    // Some operators pack before they look up, others look up the same weights twice.
    drop_reserved();
    return known;
  }
  if (reserved_ == nullptr || reserved_->data() != packed) {
    return nullptr;
  }
  PackedWeights& all = PackedWeights::of_process();
  std::shared_ptr<PackedBlock> block = all.one_of_equal(reserved_);
  if (block == reserved_) {
    reserved_.reset();
  } else {
    drop_reserved();
  }
  Digest key;
  if (find_key(weights, &key)) {
    all.insert(key, block);
    if (file_ != nullptr) {
      file_->add(key, block);
    }
  }
  return use(std::move(block));
}

const void* WeightsSession::pack(const UnpackedWeights& weights, size_t bytes,
                                 runtime::FunctionRef<bool(void*)> write) {
  const void* packed = look_up(weights);
  if (packed == nullptr) {
    void* const memory = reserve(bytes, /*overwritten=*/true);
    if (memory == nullptr) {
      return nullptr;
    }
    if (!write(memory)) {
      drop_reserved();
      return nullptr;
    }
    packed = look_up_or_insert(weights, memory);
  }
  return packed;
}

const void* WeightsSession::use(std::shared_ptr<PackedBlock> block) {
  const void* const data = block->data();
  used_.push_back(std::move(block));
  return data;
}

size_t WeightsSession::packed_size() const {
  size_t bytes = 0;
  for (const std::shared_ptr<PackedBlock>& block : used_) {
    bytes += block->size();
  }
  return bytes;
}

}  // namespace executorch::backends::xnnpack
