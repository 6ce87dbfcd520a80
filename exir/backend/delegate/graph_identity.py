# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Comparison of two graphs node by node: operators, wiring and order, without metadata."""

from __future__ import annotations

from torch.fx import GraphModule

__all__ = ["first_difference", "is_identical_graph"]


def is_identical_graph(graph_left: GraphModule, graph_right: GraphModule) -> bool:
    """Return whether both have the same operators in one order, each reading the same nodes. Linear in their size."""
    return first_difference(graph_left, graph_right) is None


def first_difference(left: GraphModule, right: GraphModule) -> str | None:
    """Return the first difference as text for a message; None if the graphs are identical."""
    left_nodes, right_nodes = list(left.graph.nodes), list(right.graph.nodes)
    place_left = {node: place for place, node in enumerate(left_nodes)}
    place_right = {node: place for place, node in enumerate(right_nodes)}
    for one, other in zip(left_nodes, right_nodes, strict=False):
        wiring = [place_left[node] for node in one.all_input_nodes]
        other_wiring = [place_right[node] for node in other.all_input_nodes]
        if (one.op, one.target, wiring) != (other.op, other.target, other_wiring):
            return f"{one.format_node()} against {other.format_node()}"
    if len(left_nodes) != len(right_nodes):
        return f"{len(left_nodes)} nodes against {len(right_nodes)}"
    return None
