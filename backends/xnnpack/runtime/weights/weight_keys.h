// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Keys of packed weights: digests of everything that affects the packed bytes.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/weights/digest/constant_digests.h>
#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

namespace executorch::backends::xnnpack {

/// For each constant of a payload, true if it is only read for packing at the creation of a
/// runtime: filters and biases of convolutions and fully connected layers.
std::vector<bool> packed_constants(const Payload& payload);
/// The total size of the chosen constants in bytes.
size_t size_of(const Payload& payload, const std::vector<bool>& chosen);

/// The keys of a payload's weights. XNNPACK identifies weights by the addresses of filter and bias
/// and a seed. The key is a digest of their contents, types, sizes and scales, the node's
/// parameters, and the quantization of its input and output.
class WeightKeys final {
 public:
  /// @param payload, constants See ConstantDigests.
  WeightKeys(const Payload& payload, const Constants& constants, ConstantDigests digests);

  /// False if no node has this filter and bias, or several nodes pack them differently.
  bool find(uint32_t seed, const void* filter, const void* bias, Digest* key);

 private:
  /// The digest of a node's parameters and packed constants.
  Digest digest_of_node(const fb_xnnpack::XNode& node);
  void add_quantization(const fb_xnnpack::XValue& value, Digester& digester);

  ConstantDigests digests_;
  /// The values of the payload by their ids.
  std::vector<const fb_xnnpack::XValue*> values_;
  /// The nodes that have one filter and bias, and their common digest.
  struct Users {
    std::vector<const fb_xnnpack::XNode*> nodes;
    /// Set once: nodes of an unrolled recurrence query it one after the other.
    bool is_digested = false;
    /// Empty if the nodes pack differently.
    std::optional<Digest> digest;
  };
  std::optional<Digest> digest_of_users(const Users& users);

  std::map<std::pair<const void*, const void*>, Users> users_;
};

}  // namespace executorch::backends::xnnpack
