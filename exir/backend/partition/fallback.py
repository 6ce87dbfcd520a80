# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reasons why a partitioner left nodes: it records them while it partitions, and they are kept on the nodes.

`node.meta["fallback"]` holds (partitioner, reason) pairs, one for each partitioner that left the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch.fx import GraphModule, Node

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules

__all__ = ["FALLBACK", "NOT_DELEGATED", "NO_REASON", "NodeKey", "keep_fallbacks", "reasons_collected", "record_reason"]

FALLBACK = "fallback"
NO_REASON = "the partitioner does not take it and gives no reason"
# The runtime computes sizes and scalars itself, for every backend.
NOT_DELEGATED = ("executorch_prim",)

# A node's name and debug handle, which its copies share: the graphs of control flow repeat names.
NodeKey = tuple[str, object]

_collected: ContextVar[dict[NodeKey, str] | None] = ContextVar("partitioner_reasons", default=None)


@contextmanager
def reasons_collected() -> Iterator[dict[NodeKey, str]]:
    """Within the block, collect the first reason that partitioners record for each node."""
    reasons: dict[NodeKey, str] = {}
    token = _collected.set(reasons)
    try:
        yield reasons
    finally:
        _collected.reset(token)


def record_reason(node: Node, reason: str) -> None:
    """Record a partitioner's reason for leaving a node. Without effect outside of `reasons_collected`."""
    reasons = _collected.get()
    if reasons is not None:
        reasons.setdefault(_key(node), reason)


def keep_fallbacks(graph_module: GraphModule, partitioner: str, reasons: dict[NodeKey, str]) -> None:
    """Note on every operator outside of delegates that `partitioner` left it, with the reason."""
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            if isinstance(node.target, EdgeOpOverload) and node.target.namespace not in NOT_DELEGATED:
                fallback = (partitioner, reasons.get(_key(node), NO_REASON))
                node.meta[FALLBACK] = (*node.meta.get(FALLBACK, ()), fallback)


def _key(node: Node) -> NodeKey:
    return node.name, node.meta.get("debug_handle")
