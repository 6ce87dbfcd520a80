// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operator_labels.h>

#include <string.h>

#include <map>

#include <executorch/runtime/executor/optional_vector.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using Kind = fb::XNodeUnion;
using runtime::internal::count;

namespace {

struct KindName {
  Kind kind;
  /// How the names of its operators begin.
  const char* name;
};

/// A kind may have operators of several names. What is not here is an elementwise node.
constexpr KindName kNames[] = {
    {Kind::Add, "Binary Elementwise"},
    {Kind::Subtract, "Binary Elementwise"},
    {Kind::Multiply, "Binary Elementwise"},
    {Kind::Div, "Binary Elementwise"},
    {Kind::Minimum, "Binary Elementwise"},
    {Kind::Maximum, "Binary Elementwise"},
    {Kind::PReLU, "Binary Elementwise"},
    {Kind::PReLU, "PReLU"},
    {Kind::CopySign, "Binary Elementwise"},
    {Kind::FullyConnected, "Fully Connected"},
    {Kind::FullyConnected, "Dynamic Fully Connected"},
    {Kind::Softmax, "Softmax"},
    {Kind::StaticTranspose, "Transpose"},
    {Kind::Conv2d, "Convolution"},
    {Kind::DepthwiseConv2d, "Convolution"},
    {Kind::ConvTranspose2d, "Deconvolution"},
    {Kind::StaticResizeBilinear2D, "Resize Bilinear"},
    {Kind::StaticConstantPad, "Constant Pad"},
    {Kind::AvgPooling2d, "Average Pooling"},
    {Kind::MaxPooling2d, "Max Pooling"},
    {Kind::ArgMaxPooling2d, "ArgMax Pooling"},
    {Kind::GlobalAvgPooling2d, "Mean"},
    {Kind::GlobalAvgPooling2d, "Sum"},
    {Kind::GlobalAvgPooling2d, "Global Average Pooling"},
    {Kind::Sum, "Sum"},
    {Kind::Convert, "Convert"},
    {Kind::Convert, "Unary Elementwise"},
    {Kind::ReciprocalSquareRoot, "Reciprocal Square Root"},
    {Kind::ReciprocalSquareRoot, "Unary Elementwise"},
    {Kind::StaticReshape, "Copy"},
    {Kind::Copy, "Copy"},
    {Kind::Concatenate2, "Copy"},
    {Kind::Concatenate3, "Copy"},
    {Kind::Concatenate4, "Copy"},
    {Kind::Concatenate5, "Copy"},
    {Kind::StaticSlice, "Slice"},
    {Kind::BatchMatrixMultiply, "Batch Matrix Multiply"},
    {Kind::ScaledDotProductAttention, "Scaled Dot"},
};

bool begins_with(const std::string& text, const char* beginning) {
  return text.compare(0, strlen(beginning), beginning) == 0;
}

bool may_run(Kind kind, const std::string& name) {
  bool is_listed = false;
  for (const KindName& row : kNames) {
    if (row.kind == kind) {
      is_listed = true;
      if (begins_with(name, row.name)) {
        return true;
      }
    }
  }
  return !is_listed && begins_with(name, "Unary Elementwise");
}

/// What only changes layouts is no operator's: it counts to the next one, or to the last.
uint32_t handle_of(const fb::XNNGraph& graph, uint32_t node) {
  const auto nodes = static_cast<uint32_t>(count(graph.xnodes()));
  for (uint32_t i = node; i < nodes; ++i) {
    if (graph.xnodes()->Get(i)->debug_handle() != 0) {
      return graph.xnodes()->Get(i)->debug_handle();
    }
  }
  while (node > 0 && graph.xnodes()->Get(node)->debug_handle() == 0) {
    --node;
  }
  return graph.xnodes()->Get(node)->debug_handle();
}

}  // namespace

std::vector<std::string> operator_labels(const std::vector<std::string>& names,
                                         const fb::XNNGraph& graph) {
  const auto nodes = static_cast<uint32_t>(count(graph.xnodes()));
  std::map<std::string, int> seen;
  std::vector<std::string> labels;
  uint32_t next = 0;
  for (const std::string& name : names) {
    std::string label = name + " #" + std::to_string(++seen[name]);
    uint32_t node = next;
    while (node < nodes && !may_run(graph.xnodes()->Get(node)->xnode_union_type(), name)) {
      ++node;
    }
    if (node < nodes) {
      label += " [" + std::to_string(handle_of(graph, node)) + "]";
      next = node + 1;
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace executorch::backends::xnnpack
