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

#define ET_NEEDS_XNNPACK(create)                                            \
  OperatorResult create(const Node& node, const OperatorContext& context) { \
    return refuse_without_xnnpack(node, context);                           \
  }
ET_NEEDS_XNNPACK(create_xnn_convolution)
ET_NEEDS_XNNPACK(create_xnn_deconvolution)
ET_NEEDS_XNNPACK(create_xnn_linear)
ET_NEEDS_XNNPACK(create_xnn_unary)
ET_NEEDS_XNNPACK(create_xnn_binary)
ET_NEEDS_XNNPACK(create_xnn_attention)
ET_NEEDS_XNNPACK(create_xnn_pooling)
ET_NEEDS_XNNPACK(create_xnn_reduction)
ET_NEEDS_XNNPACK(create_xnn_resize)
#undef ET_NEEDS_XNNPACK

OperatorResult create_xnn_convert(const Node& node, const OperatorContext& context) {
  return create_plain_convert(node, context);
}
OperatorResult create_xnn_transpose(const Node& node, const OperatorContext& context) {
  return create_plain_transpose(node, context);
}

}  // namespace executorch::backends::xnnpack
