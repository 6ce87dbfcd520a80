// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <xnnpack.h>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>
#include <executorch/runtime/core/span.h>

namespace executorch::backends::xnnpack {

/// Adds a verified payload's node to XNNPACK's graph.
/// @param ids XNNPACK's value ids by the payload's.
/// @param values The payload's values by their ids.
xnn_status define_node(xnn_subgraph_t graph, const fb_xnnpack::XNode& node,
                       runtime::Span<const uint32_t> ids,
                       runtime::Span<const fb_xnnpack::TensorValue* const> values);

}  // namespace executorch::backends::xnnpack
