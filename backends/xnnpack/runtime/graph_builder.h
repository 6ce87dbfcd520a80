// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/constants.h>
#include <executorch/backends/xnnpack/runtime/payload.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

struct SubgraphDeleter {
  void operator()(xnn_subgraph_t subgraph) const { xnn_delete_subgraph(subgraph); }
};
using Subgraph = std::unique_ptr<xnn_subgraph, SubgraphDeleter>;

/// The payload's graph as XNNPACK's own. XNNPACK's numbers of the arguments are the payload's
/// external ids.
/// @param constants Must outlive the graph and the runtimes made of it.
/// @retval Error::InvalidProgram XNNPACK refuses a value or node; the log says which.
/// @retval Error::NotSupported This XNNPACK lacks a kind of node or its type.
runtime::Result<Subgraph> build_graph(const Payload& payload, const Constants& constants);

}  // namespace executorch::backends::xnnpack
