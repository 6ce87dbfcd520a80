# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Boolean nodes that are not worth a delegate.

A delegate gains nothing if it only computes logic and moves of booleans, and an unsupported reader of their results
would divide it. They are delegated where a delegate computes all their readers, or what they read:

    int64 ─▶ eq ─▶ [not] ─▶ where ─▶ embedding ─▶ [linear]      `not` stays in the program: an unsupported node reads it
    int64 ─▶ eq ─▶ [not ─▶ where ─▶ linear]                     all its readers are delegated
    [linear ─▶ gt ─▶ not] ─▶ nonzero                            it reads what a delegate computes
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch.fx import Graph, Node


def idle_booleans(graph: Graph, supported: Collection[Node]) -> set[Node]:
    """Return the supported nodes that compute only booleans and that no delegate has to compute."""
    computed: set[Node] = set()  # computed by a delegate, or from a delegate's result
    booleans: list[Node] = []
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        is_supported, is_boolean_only = node in supported, _has_only_booleans(node)
        if (is_supported and not is_boolean_only) or any(source in computed for source in node.all_input_nodes):
            computed.add(node)
        elif is_supported and is_boolean_only:
            booleans.append(node)
    idle: set[Node] = set()
    for node in reversed(booleans):
        if any(user not in supported or user in idle for user in node.users):
            idle.add(node)
    return idle


def _has_only_booleans(node: Node) -> bool:
    return all(map(is_boolean, (node, *node.all_input_nodes)))


def is_boolean(node: Node) -> bool:
    """Return whether a node's result is a tensor of booleans. A delegate with only such nodes gains nothing."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool
