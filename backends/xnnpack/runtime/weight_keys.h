// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// By what packed weights are found again: everything that decides what packing writes.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include <executorch/backends/xnnpack/runtime/constants.h>
#include <executorch/backends/xnnpack/runtime/digest.h>
#include <executorch/backends/xnnpack/runtime/packed_file.h>
#include <executorch/backends/xnnpack/runtime/payload.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

/// The digest of each of a payload's constants. What `file` (may be null) knows of a file that is
/// mapped is not read again. Loads others that are large and have names once more, one at a time,
/// and gives them back: no more than one is in memory for this.
/// @retval Error As Constants::load().
runtime::Result<std::vector<Digest>> digest_constants(
    const Payload& payload, const Constants& constants,
    const ET_RUNTIME_NAMESPACE::NamedDataMap* names, PackedFile* file);

/// Of each of a payload's constants, whether XNNPACK packs it when a runtime is created and reads
/// it no more: filters and biases of convolutions and fully connected layers.
std::vector<bool> packed_constants(const Payload& payload);
/// The bytes of those of a payload's constants that are chosen.
size_t size_of(const Payload& payload, const std::vector<bool>& chosen);

/// The keys of a payload's weights. XNNPACK asks by where filter and bias are and a seed of its
/// own, which says little; the key says their contents, types, sizes and scales, the node's numbers
/// and how its input and output are quantized.
class WeightKeys final {
 public:
  WeightKeys(const Payload& payload, const std::vector<Digest>& digests,
             const Constants& constants);

  /// False if nodes that are packed differently have this filter and bias, or none has.
  bool find(uint32_t seed, const void* filter, const void* bias, Digest* key) const;

 private:
  struct Entry {
    Digest digest;
    bool is_ambiguous;
  };
  std::map<std::pair<const void*, const void*>, Entry> entries_;
};

}  // namespace executorch::backends::xnnpack
