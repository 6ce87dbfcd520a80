// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/operator_table.h>

#include <string>

#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::Result;

namespace {

// In the order of the node union's members.
constexpr CreateOperator kCreate[] = {
#define NODE(kind, layout, shape, create, datatypes) create,
#include <executorch/backends/xnnpack/runtime/payload/node_kinds.inc>
#undef NODE
};

/// The datatypes of a node's operands, by name.
std::string operand_datatypes(const Node& node, const OperatorContext& context) {
  std::string names;
  for (size_t i = 0; i < node.operand_count; ++i) {
    if (node.operands[i] != kNoValue) {
      names += names.empty() ? "" : ", ";
      names += fb_xnnpack::EnumNameDatatype(context.graph.values[node.operands[i]].datatype);
    }
  }
  return names;
}

const char* result_datatype(const Node& node, const OperatorContext& context) {
  return fb_xnnpack::EnumNameDatatype(context.graph.values[node.result()].datatype);
}

}  // namespace

Error refuse_datatypes(const Node& node, const OperatorContext& context) {
  ET_LOG(Error, "xnnpack: no operator runs node %s on %s to %s",
         fb_xnnpack::EnumNameXNodeUnion(node.kind), operand_datatypes(node, context).c_str(),
         result_datatype(node, context));
  return Error::InvalidProgram;
}

Result<size_t> moved_element_bytes(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  if (!have_same_elements(x, y)) {
    return refuse_datatypes(node, context);
  }
  return bytes_of(x.datatype, {});
}

Error refuse_without_xnnpack(const Node& node, const OperatorContext& context) {
  ET_LOG(Error,
         "xnnpack: node %s on %s to %s needs XNNPACK, which this runtime was built without "
         "(EXECUTORCH_XNNPACK_LIBRARY=NONE)",
         fb_xnnpack::EnumNameXNodeUnion(node.kind), operand_datatypes(node, context).c_str(),
         result_datatype(node, context));
  return Error::NotSupported;
}

OperatorResult create_operator(const Node& node, const OperatorContext& context) {
  if (node.fused != Fused::No) {
    return create_fused(node, context);
  }
  return kCreate[static_cast<size_t>(node.kind) - 1](node, context);
}

bool packs_weights(const Node& node, const OperatorContext& context) {
  const auto is_constant = [&](uint32_t id) {
    return id == kNoValue || context.graph.values[id].is_constant();
  };
  return node.fused == Fused::No && is_constant(node.operand(1)) && is_constant(node.operand(2)) &&
         (is_engine_convolution(node, context) || is_engine_linear(node, context));
}

bool has_epilogue(const Node& node, const OperatorContext& context) {
  return node.fused == Fused::No &&
         (is_engine_convolution(node, context) || is_engine_linear(node, context) ||
          adds_quantized(node, context));
}

}  // namespace executorch::backends::xnnpack
