// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// By what packed weights are found again: everything that decides what packing writes.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/weights/constant_digests.h>
#include <executorch/backends/xnnpack/runtime/weights/digest.h>

namespace executorch::backends::xnnpack {

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
  /// @param payload, constants As ConstantDigests has them.
  WeightKeys(const Payload& payload, const Constants& constants, ConstantDigests digests);

  /// False if nodes that are packed differently have this filter and bias, or none has.
  bool find(uint32_t seed, const void* filter, const void* bias, Digest* key);

 private:
  /// The digest of a node's numbers and of what it packs.
  Digest digest_of_node(const fb_xnnpack::XNode& node);
  void add_quantization(const fb_xnnpack::XValue& value, Digester& digester);

  ConstantDigests digests_;
  /// The values of the payload by their ids.
  std::vector<const fb_xnnpack::XValue*> values_;
  /// The nodes that have this filter and bias.
  std::map<std::pair<const void*, const void*>, std::vector<const fb_xnnpack::XNode*>> nodes_;
};

}  // namespace executorch::backends::xnnpack
