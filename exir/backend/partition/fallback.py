# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What a partitioner was asked to take and did not, with its reason: told while it partitions, kept on the nodes.

`node.meta["fallback"]` holds (partitioner, reason) pairs, one for each partitioner that left the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch.fx import GraphModule, Node

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules

__all__ = ["FALLBACK", "NOT_DELEGATED", "NO_REASON", "NodeKey", "keep_fallbacks", "reasons_collected", "tell_reason"]

FALLBACK = "fallback"
NO_REASON = "the partitioner does not take it and gives no reason"
# Sizes and numbers are the runtime's own business, whatever the backend.
NOT_DELEGATED = ("executorch_prim",)

# A node by its name, and, as names repeat in the graphs that control flow runs, its number: copies have both.
NodeKey = tuple[str, object]

_collected: ContextVar[dict[NodeKey, str] | None] = ContextVar("partitioner_reasons", default=None)


@contextmanager
def reasons_collected() -> Iterator[dict[NodeKey, str]]:
    """Within the block, what partitioners tell of nodes: node → the first reason."""
    reasons: dict[NodeKey, str] = {}
    token = _collected.set(reasons)
    try:
        yield reasons
    finally:
        _collected.reset(token)


def tell_reason(node: Node, reason: str) -> None:
    """A partitioner's reason for leaving a node; heard only while a program is partitioned."""
    reasons = _collected.get()
    if reasons is not None:
        reasons.setdefault(_key(node), reason)


def keep_fallbacks(graph_module: GraphModule, partitioner: str, reasons: dict[NodeKey, str]) -> None:
    """Notes on every operator that is still outside of delegates that `partitioner` left it, and why."""
    for held in all_graph_modules(graph_module):
        for node in held.graph.nodes:
            if isinstance(node.target, EdgeOpOverload) and node.target.namespace not in NOT_DELEGATED:
                told = (partitioner, reasons.get(_key(node), NO_REASON))
                node.meta[FALLBACK] = (*node.meta.get(FALLBACK, ()), told)


def _key(node: Node) -> NodeKey:
    return node.name, node.meta.get("debug_handle")
