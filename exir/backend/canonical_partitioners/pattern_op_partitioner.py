# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Partitions from patterns, lists of nodes and operator predicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

from executorch.exir.backend.canonical_partitioners.group_partitioner import GroupBasedPartitioner

__all__ = [
    "generate_grouped_partitions_from_list_of_nodes",
    "generate_partitions_from_list_of_nodes",
    "generate_pattern_op_partitions",
]


def generate_partitions_from_list_of_nodes(
    graph_module: GraphModule,
    pattern_list: list[list[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
) -> list[Partition]:
    """Return the largest partitions of the nodes in `pattern_list` and those that `op_support` takes.

    ValueError: neither is given.
    """
    return _propose(graph_module, _flatten(pattern_list), op_support)


def generate_grouped_partitions_from_list_of_nodes(
    graph_module: GraphModule,
    pattern_list: list[list[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
) -> list[Partition]:
    """Like `generate_partitions_from_list_of_nodes`, with the nodes of each list in one partition."""
    return _propose(graph_module, _flatten(pattern_list), op_support, groups=pattern_list)


def generate_pattern_op_partitions(
    graph_module: GraphModule,
    patterns: list[Graph] | None = None,
    partitions_list: list[list[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
    ignore_literals: bool = False,
) -> list[Partition]:
    """Return the largest partitions of nodes that match a pattern, are in `partitions_list`, or that `op_support`
    takes.

    patterns: graphs to find, their placeholders standing for anything. ignore_literals: literal arguments need not
    match.
    ValueError: none of the three is given.
    """
    nodes = _flatten(partitions_list)
    if patterns is not None:
        nodes = (nodes or set()) | _matches(graph_module.graph, patterns, ignore_literals)
    return _propose(graph_module, nodes, op_support)


class _IsAmong(OperatorSupportBase):
    def __init__(self, nodes: set[Node]) -> None:
        super().__init__()
        self._nodes = nodes

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node in self._nodes


def _propose(
    graph_module: GraphModule,
    nodes: set[Node] | None,
    op_support: OperatorSupportBase | None,
    groups: list[list[Node]] | None = None,
) -> list[Partition]:
    checks = [check for check in (op_support, None if nodes is None else _IsAmong(nodes)) if check is not None]
    if not checks:
        raise ValueError("partitioning needs patterns, lists of nodes, or an OperatorSupportBase; found none of them")
    return GroupBasedPartitioner(
        graph_module, any_chain(*checks), allows_single_node_partition=True, node_groups=groups
    ).propose_partitions()


def _flatten(lists: Iterable[Iterable[Node]] | None) -> set[Node] | None:
    return None if lists is None else {node for nodes in lists for node in nodes}


def _matches(graph: Graph, patterns: Iterable[Graph], ignore_literals: bool) -> set[Node]:
    matched: set[Node] = set()
    for pattern in patterns:
        for match in SubgraphMatcher(pattern, ignore_literals=ignore_literals).match(graph):
            matched.update(
                node
                for of_pattern, node in match.nodes_map.items()
                if isinstance(node, Node) and of_pattern.op != "placeholder" and node.op != "placeholder"
            )
    return matched
