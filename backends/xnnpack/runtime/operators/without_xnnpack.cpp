// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A build without XNNPACK: operators run on the engine alone.
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>

namespace executorch::backends::xnnpack {

bool has_library() { return false; }
bool start_library() { return true; }
Digest library_digest() { return Digester().finish(); }
bool has_run_out() { return false; }
void forget_shortage() {}

OperatorResult create_xnn_convolution(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_deconvolution(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_linear(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_unary(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_convert(const Node& node, const OperatorContext& context) {
  return create_plain_convert(node, context);
}
OperatorResult create_xnn_binary(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_attention(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_pooling(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_reduction(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_resize(const Node& node, const OperatorContext& context) {
  return refuse_without_xnnpack(node, context);
}
OperatorResult create_xnn_transpose(const Node& node, const OperatorContext& context) {
  return create_plain_transpose(node, context);
}

}  // namespace executorch::backends::xnnpack
