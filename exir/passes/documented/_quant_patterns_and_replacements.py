# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The function with which the page about the backend dialect traces patterns and their replacements."""

from collections.abc import Callable

from torch import fx
from torch._ops import OpOverload

from executorch.exir.dialects._ops import edge_op


def _trace_and_lower_to_edge_ops(f: Callable[..., object]) -> fx.GraphModule:
    """Return the graph of a pattern's operators in the edge dialect, for `torch.fx.subgraph_rewriter`."""
    graph_module = fx.symbolic_trace(f)
    for node in graph_module.graph.nodes:
        if isinstance(node.target, OpOverload):
            node.target = edge_op(node.target)
    graph_module.recompile()
    return graph_module


__all__ = ["_trace_and_lower_to_edge_ops"]
