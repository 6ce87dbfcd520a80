// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <optional>
#include <vector>

#include <executorch/backends/xnnpack/runtime/weights/file/packed_file.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_arena.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>
#include <executorch/backends/xnnpack/runtime/weights/weight_keys.h>
#include <executorch/runtime/core/function_ref.h>

namespace executorch::backends::xnnpack {

/// The weights of a node, by the addresses of their contents.
struct UnpackedWeights {
  /// Identifies the packed form of these contents.
  uint32_t layout;
  const void* filter;
  /// May be null.
  const void* bias;
};

/// Finds or packs the weights of one executor during its creation, and keeps them alive afterwards:
/// must outlive the executor.
class WeightsSession final {
 public:
  /// @param file May be null. The creation lock of PackedWeights must be held until finish().
  /// @param unpacked The bytes of the weights before packing.
  WeightsSession(WeightKeys keys, std::shared_ptr<PackedFile> file, size_t unpacked);
  WeightsSession(const WeightsSession&) = delete;
  WeightsSession& operator=(const WeightsSession&) = delete;

  /// The packed form of a node's weights: that of an earlier delegate, or `bytes` bytes that
  /// `write` fills completely; null if the allocation fails or `write` returns false.
  const void* pack(const UnpackedWeights& weights, size_t bytes,
                   runtime::FunctionRef<bool(void*)> write);
  /// True if an earlier delegate or the file has the packed form.
  bool is_packed(const UnpackedWeights& weights) { return find(weights) != nullptr; }
  /// Ends the creation of the executor.
  void finish();
  /// Bytes that the executor uses.
  size_t packed_size() const;

  // The steps of pack(), for libraries that pack their weights.
  /// The packed form, if an earlier delegate or the file has it; else null.
  const void* look_up(const UnpackedWeights& weights);
  /// Memory for a packed form, zeros unless all of it is `overwritten`; null if the allocation
  /// fails.
  void* reserve(size_t size, bool overwritten);
  /// Keeps weights that were packed into reserved memory. Returns the packed form to use, or null
  /// if `packed` is not the reserved memory.
  const void* look_up_or_insert(const UnpackedWeights& weights, const void* packed);
  bool is_finished() const { return is_finished_; }

  /// The state of a library that packs its weights; the session keeps it alive.
  std::shared_ptr<void> adapter;

 private:
  /// The packed form of an earlier delegate or of the file; null if neither has it.
  std::shared_ptr<PackedBlock> find(const UnpackedWeights& weights);
  /// False if these weights cannot be shared.
  bool find_key(const UnpackedWeights& weights, Digest* key);
  std::shared_ptr<PackedBlock> allocate(size_t size, bool overwritten);
  void drop_reserved();
  /// Keeps a block for the executor.
  const void* use(std::shared_ptr<PackedBlock> block);

  /// None after the executor's creation, because nothing is packed any more.
  std::optional<WeightKeys> keys_;
  std::shared_ptr<PackedFile> file_;
  size_t unpacked_;
  /// Null until large weights are packed.
  std::shared_ptr<PackedArena> arena_;
  std::vector<std::shared_ptr<PackedBlock>> used_;
  /// The memory into which weights are being packed.
  std::shared_ptr<PackedBlock> reserved_;
  bool is_finished_ = false;
};

}  // namespace executorch::backends::xnnpack
