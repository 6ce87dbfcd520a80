// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/packed_arena.h>
#include <executorch/backends/xnnpack/runtime/packed_file.h>
#include <executorch/backends/xnnpack/runtime/packed_weights.h>
#include <executorch/backends/xnnpack/runtime/weight_keys.h>
#include <executorch/runtime/core/function_ref.h>

namespace executorch::backends::xnnpack {

/// XNNPACK's view of the process's packed weights while one runtime is created, and what keeps
/// those that it uses alive afterwards: must outlive the runtime. To XNNPACK the place of a block
/// in the cache is its address.
class WeightsSession final {
 public:
  /// @param file May be null. The creation lock of PackedWeights must be held until finish().
  /// @param unpacked The bytes of the weights before packing.
  WeightsSession(WeightKeys keys, std::shared_ptr<PackedFile> file, size_t unpacked);
  WeightsSession(const WeightsSession&) = delete;
  WeightsSession& operator=(const WeightsSession&) = delete;

  xnn_weights_cache_t provider() { return &provider_; }
  /// The packed form of a node's weights: that of an earlier delegate, or what `write` makes of
  /// `bytes` bytes, all of which it writes; null if there is no memory.
  /// @param asked Its seed is what else the packed form depends on.
  const void* pack(const xnn_weights_cache_look_up_key& asked, size_t bytes,
                   runtime::FunctionRef<void(void*)> write);
  /// The runtime is created.
  void finish();
  /// Bytes that the runtime uses.
  size_t packed_size() const;

 private:
  /// False if what is asked for is not to be shared.
  bool find_key(const xnn_weights_cache_look_up_key& asked, Digest* key);
  size_t look_up(const xnn_weights_cache_look_up_key& asked);
  void* reserve(size_t size, bool overwritten);
  /// Zeros, where they are not going to be overwritten; null if there is no memory.
  std::shared_ptr<PackedBlock> allocate(size_t size, bool overwritten);
  void drop_reserved();
  size_t look_up_or_insert(const xnn_weights_cache_look_up_key& asked, const void* packed);
  /// Keeps a block for the runtime; returns its place.
  size_t use(std::shared_ptr<PackedBlock> block);

  xnn_weights_cache_provider provider_;
  /// None once the runtime is created: nothing is packed from then on.
  std::optional<WeightKeys> keys_;
  std::shared_ptr<PackedFile> file_;
  size_t unpacked_;
  /// Null until weights that are worth it are packed.
  std::shared_ptr<PackedArena> arena_;
  std::vector<std::shared_ptr<PackedBlock>> used_;
  /// Where XNNPACK is packing.
  std::shared_ptr<PackedBlock> reserved_;
  bool is_finished_ = false;
};

}  // namespace executorch::backends::xnnpack
