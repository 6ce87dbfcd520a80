// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packed weights of the process, without duplicates.
#pragma once

#include <stddef.h>

#include <map>
#include <memory>
#include <mutex>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

namespace executorch::backends::xnnpack {

/// Bytes after packed weights that kernels may read: arenas and files have as many.
inline constexpr size_t kReadBeyondWeights = 128;

/// Packed weights of one node, in memory that `owner` keeps alive.
class PackedBlock final {
 public:
  /// Allocates zeros of the delegates' memory; null if that fails. Layers with different
  /// parameters pack one matrix once each, so a small payload may need any amount.
  static std::shared_ptr<PackedBlock> allocate(size_t size);
  PackedBlock(const void* data, size_t size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}

  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const void* data_;
  size_t size_;
  std::shared_ptr<const void> owner_;
};

/// The referenced blocks of the process, by key.
class PackedWeights final {
 public:
  static PackedWeights& of_process();

  /// Held during the creation of a runtime: concurrent creations would pack the same weights twice.
  std::unique_lock<std::mutex> lock_creation() { return std::unique_lock<std::mutex>(creation_); }

  /// Null if no block with this key is referenced. Needs the lock.
  std::shared_ptr<PackedBlock> find(const Digest& key) const;
  void insert(const Digest& key, const std::shared_ptr<PackedBlock>& block);
  /// The referenced block with the bytes of `packed` under another key, else `packed`, which later
  /// calls compare with. Needs the lock.
  std::shared_ptr<PackedBlock> one_of_equal(const std::shared_ptr<PackedBlock>& packed);

  struct Size {
    size_t blocks = 0;
    size_t bytes = 0;
  };
  /// The size of the referenced blocks. Takes the lock.
  Size size();

 private:
  std::mutex creation_;
  /// At this number of keys, those of freed blocks are removed.
  static constexpr size_t kFull = 1024;
  size_t full_ = kFull;
  std::map<Digest, std::weak_ptr<PackedBlock>> by_key_;
  /// By a digest of samples of their bytes.
  std::map<Digest, std::weak_ptr<PackedBlock>> by_sample_;
};

}  // namespace executorch::backends::xnnpack
