// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A payload's graph in the form that the executor fuses, plans and runs.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <limits>
#include <map>
#include <vector>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/payload/shape_inference.h>
#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/precision.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

using fb_xnnpack::Datatype;
using NodeKind = fb_xnnpack::XNodeUnion;

constexpr uint32_t kNoValue = UINT32_MAX;

struct Value {
  Datatype datatype = Datatype::Invalid;
  Shape declared;
  /// The contents of a constant; null for any other value.
  const void* data = nullptr;
  /// The number of the argument; kNoValue for a value inside the graph.
  uint32_t argument = kNoValue;
  bool is_input = false;
  /// The value of the payload with the same shape: this value, except for values that passes add.
  uint32_t shape_source = kNoValue;
  /// The constant of the payload from which `data` was converted, or `data`. It is the key of
  /// packed weights.
  const void* source_data = nullptr;

  // Quantization.
  float scale = 1;
  int32_t zero_point = 0;
  /// One for each channel; null unless the value is quantized by channel.
  const float* channel_scales = nullptr;
  size_t channel_dim = 0;
  /// One bfloat16 for each block; null unless the value is quantized by block.
  const uint16_t* block_scales = nullptr;
  size_t block_size = 0;
  /// For dynamic quantization, the number of innermost dimensions that share parameters; else 0.
  size_t row_dims = 0;

  bool is_constant() const { return data != nullptr; }
  bool is_internal() const { return data == nullptr && argument == kNoValue; }
};

/// A window over an image in NHWC.
struct Window2d {
  uint32_t top = 0, right = 0, bottom = 0, left = 0;
  uint32_t height = 1, width = 1;
  uint32_t stride_height = 1, stride_width = 1;
  uint32_t dilation_height = 1, dilation_width = 1;

  size_t taps() const { return size_t{height} * width; }
};

struct Clamp {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();

  bool is_none() const {
    return min == -std::numeric_limits<float>::infinity() &&
           max == std::numeric_limits<float>::infinity();
  }
};

/// Kinds of nodes that only fusion creates; payloads do not contain them.
enum class Fused : uint8_t {
  No,
  Silu,
  SiluProduct,
  LayerNorm,
  RmsNorm,
  Rotary,
  PlaneConvolution,
  Attention,
  Lookup
};

/// Parameters of a node that fuse_attention() makes. Its operands are queries, keys,
/// values, the mask or kNoValue, and the booleans that replace scores or kNoValue; its result has
/// the shape of the last product's.
struct FusedAttention {
  enum : size_t { kQuery, kKey, kValue, kMask, kResult, kOrders };
  static constexpr size_t kReplaced = 4, kOperands = 5;

  /// Changes of layout after an operand and after the result: dimension d is dimension order[d] of
  /// the operand.
  uint8_t orders[kOrders][Shape::kMaxRank];
  /// Keys are [..., keys, channels]; else [..., channels, keys].
  bool keys_are_rows = false;
  /// Values are [..., channels, keys]; else [..., keys, channels].
  bool values_are_columns = false;
  float scale = 1;
  /// The score that replaces others, and where: at booleans that are true, or at false ones.
  float replacement = 0;
  bool replaces_true = true;

  FusedAttention() {
    for (auto& order : orders) {
      for (size_t d = 0; d < Shape::kMaxRank; ++d) {
        order[d] = static_cast<uint8_t>(d);
      }
    }
  }
};

struct Node {
  static constexpr size_t kMaxOperands = 6;

  NodeKind kind = NodeKind::NONE;
  Fused fused = Fused::No;
  /// The flatbuffer's table of the node.
  const void* fields = nullptr;
  uint32_t debug_handle = 0;
  uint32_t flags = 0;
  /// Operands in the order of the table's fields; kNoValue for an absent one.
  uint32_t operands[kMaxOperands] = {kNoValue, kNoValue, kNoValue, kNoValue, kNoValue, kNoValue};
  size_t operand_count = 0;
  uint32_t results[2] = {kNoValue, kNoValue};
  size_t result_count = 0;
  Clamp clamp;

  // Convolutions and poolings only.
  Window2d window;

  // Products only: the precision to which factors may be rounded.
  kernels::engine::Precision precision = kernels::engine::Precision::Float32;
  // The export keeps its factors in float32.
  bool has_full_precision = false;
  // Convolutions of float32 only: the image, or the result, is pairs of bfloat16 (fuse_roundings).
  bool reads_pairs = false, writes_pairs = false;

  // Epilogues, by fusion.
  kernels::engine::Activation activation = kernels::engine::Activation::None;
  /// Added to the result before the clamp and activation.
  uint32_t residual = kNoValue;
  /// The product's result before the addition, which fusion removed.
  uint32_t unfused = kNoValue;
  /// The clamp of that result, if it is quantized.
  Clamp unfused_clamp;

  // Fused norms only: elements that share a mean, and the addend of the variance.
  size_t norm_length = 0;
  float epsilon = 0;

  /// Fused rotary embeddings only: how many pairs of channels are rotated, the two channels of a
  /// pair are neighbors, and the tables have a number for each channel instead of each pair.
  /// Operands: the tensor, cosines, sines.
  size_t rotated_pairs = 0;
  bool pairs_are_neighbors = false, has_tables_of_channels = false;

  /// Lookups only: the index of its nodes in Graph::lookups.
  size_t lookup = 0;

  // Fused attention only; `unfused` has the shape of the scores.
  FusedAttention attention;

  template <typename Table>
  const Table& as() const {
    return *static_cast<const Table*>(fields);
  }
  uint32_t operand(size_t i) const { return operands[i]; }
  uint32_t result() const { return results[0]; }
};

struct Graph {
  /// By id.
  std::vector<Value> values;
  /// In execution order, without those whose results reach no output.
  std::vector<Node> nodes;
  /// Ids of the arguments: inputs first.
  std::vector<uint32_t> arguments;
  size_t input_count = 0;
  /// Constants converted to float32, by the values that have them.
  std::map<uint32_t, DelegateBlock> converted;
  /// Weights of linear layers and convolutions that are converted only to be packed: the narrow
  /// constant of each float32 value. Until then `data` of both is the narrow constant's.
  std::map<uint32_t, uint32_t> narrow_weights;
  /// The nodes that each lookup replaces: they compute its table.
  std::vector<std::vector<Node>> lookups;

  /// @param payload Must outlive the graph, as `constants` must.
  /// @retval Error::InvalidProgram A value whose quantization is invalid; the log names it.
  static runtime::Result<Graph> read(const Payload& payload, const Constants& constants);

  /// Adds a value inside the graph with the shape of another.
  uint32_t add_value(Datatype datatype, uint32_t like);
  void remove_nodes(const std::vector<bool>& chosen);
  /// The number of uses of each value, as operand or output.
  std::vector<size_t> count_uses() const;
  /// The index of each value's producer; SIZE_MAX for values without one.
  std::vector<size_t> producers() const;
};

/// Bytes of `shape` elements of a datatype.
size_t bytes_of(Datatype datatype, const Shape& shape);

}  // namespace executorch::backends::xnnpack
