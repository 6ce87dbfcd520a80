# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: copies to the default dim order in front of operators; nothing inside the project imports it.

Our portable kernels take every dim order. Users run this pass for kernel libraries of their own that do not.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import HookedGraphPass

_edge = ops.edge
_TARGETS = frozenset(
    {
        _edge.aten._adaptive_avg_pool2d.default,
        _edge.aten.avg_pool2d.default,
        _edge.aten.expand_copy.default,
        _edge.aten.mean.dim,
        _edge.aten.sum.dim_IntList,
    }
)


class LegalizePortableDimOrderPass(HookedGraphPass):
    """Copies the first operand of pools, sums, means and expand_copy where its dim order is not the default."""

    def rewrite_graphs(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                if node.op == "call_function" and node.target in _TARGETS:
                    modified |= _legalize(module, node)
        return PassResult(graph_module, modified)


def _legalize(graph_module: GraphModule, node: Node) -> bool:
    source = node.args[0]
    value = source.meta.get("val") if isinstance(source, Node) else None
    if not isinstance(source, Node) or not isinstance(value, torch.Tensor):
        return False
    default = list(range(value.dim()))
    if list(value.dim_order()) == default:
        return False
    with graph_module.graph.inserting_before(node):
        copy = graph_module.graph.call_function(
            _edge.dim_order_ops._to_dim_order_copy.default, (source,), {"dim_order": default}
        )
    copy.meta = {**source.meta, "val": value.contiguous()}
    node.update_arg(0, copy)
    # The operator's own value had the dim order of its operand.
    tensor = node.meta["val"]
    node.meta["val"] = tensor.contiguous()
    return True
