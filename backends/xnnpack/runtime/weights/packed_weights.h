// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Weights as XNNPACK's kernels read them: each content once in the process.
#pragma once

#include <stddef.h>

#include <map>
#include <memory>
#include <mutex>

#include <executorch/backends/xnnpack/runtime/weights/digest.h>

namespace executorch::backends::xnnpack {

/// Packed weights of one node: memory of their own, or part of what `owner` keeps alive.
class PackedBlock final {
 public:
  /// Zeros; null if there is no memory.
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

/// The blocks that somebody holds, by key.
class PackedWeights final {
 public:
  static PackedWeights& of_process();

  /// Whoever creates a runtime holds it: what two create at once would be packed twice.
  std::unique_lock<std::mutex> lock_creation() { return std::unique_lock<std::mutex>(creation_); }

  /// Null if nobody holds one. Needs the lock.
  std::shared_ptr<PackedBlock> find(const Digest& key) const;
  void insert(const Digest& key, const std::shared_ptr<PackedBlock>& block);
  /// The block with the bytes of `packed` that somebody holds already, by another key; or else
  /// `packed`, with which those to come are compared. Needs the lock.
  std::shared_ptr<PackedBlock> one_of_equal(const std::shared_ptr<PackedBlock>& packed);

  struct Size {
    size_t blocks = 0;
    size_t bytes = 0;
  };
  /// What is held now. Takes the lock.
  Size size();

 private:
  std::mutex creation_;
  /// Beyond so many keys, those of blocks that nobody holds any more are forgotten.
  static constexpr size_t kFull = 1024;
  size_t full_ = kFull;
  std::map<Digest, std::weak_ptr<PackedBlock>> by_key_;
  /// By a digest of samples of their bytes.
  std::map<Digest, std::weak_ptr<PackedBlock>> by_sample_;
};

}  // namespace executorch::backends::xnnpack
