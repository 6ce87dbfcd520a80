# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Divide the supported nodes of a graph into as few partitions as possible.

      x ─▶ [a] ─▶ b ─▶ [c] ─▶ out        a and c can never be one call: b runs between them.

A path through k runs of supported nodes, with unsupported nodes in between, needs k calls. The longest such path gives
the number of partitions: a supported node's level is one more than that of any unsupported node it reads, and at least
that of any supported one; all nodes of a level are one partition. Values never flow to a lower level, and flow within
one only between supported nodes, so no cycle can close. Nodes of a partition need not be adjacent: one call is cheaper
than two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch.fx import Graph, Node

from executorch.exir.backend.partition.partition_order import contracted_order
from executorch.exir.backend.partition.strong_components import strong_components

__all__ = ["largest_partitions"]


def largest_partitions(
    graph: Graph, is_supported: Callable[[Node], bool], groups: Iterable[Sequence[Node]] = ()
) -> list[list[Node]]:
    """Return partitions in graph order, with their nodes in graph order (supported placeholders among them). A getitem
    node is in the partition of the node that computes its list.

    groups: nodes that share a partition; unsupported ones are left out. ValueError: a node in two groups.
    PartitionError: a group that cannot be one partition.
    """
    group_of: dict[Node, int] = {}
    for number, group in enumerate(groups):
        for node in group:
            if group_of.setdefault(node, number) != number:
                raise ValueError(f"node {node.name} is in two groups")
    supported = [node for node in graph.nodes if node.op != "output" and is_supported(node)]
    computing = [node for node in supported if node.op != "placeholder"]
    units = _Units(graph, dict.fromkeys(computing), group_of)
    levels = _levels(units)

    partitions: dict[int, list[Node]] = {}
    level_of: dict[Node, int] = {}
    for node in computing:
        level_of[node] = levels[units.of[node]]
    level_of_group = {group_of[node]: level for node, level in level_of.items() if node in group_of}
    for node in supported:
        level = level_of[node] if node in level_of else _level_of_placeholder(node, level_of, group_of, level_of_group)
        if level is not None:
            partitions.setdefault(level, []).append(node)
    position = {node: place for place, node in enumerate(computing)}
    return sorted(partitions.values(), key=lambda nodes: next(position[n] for n in nodes if n in position))


def _level_of_placeholder(
    node: Node, level_of: dict[Node, int], group_of: dict[Node, int], level_of_group: dict[int, int]
) -> int | None:
    """Return the level of a supported placeholder's group, else that of its first reader."""
    candidates = [level_of_group.get(group_of.get(node, -1)), *(level_of.get(user) for user in node.users)]
    return next((level for level in candidates if level is not None), None)


class _Units:
    """The graph with nodes of one partition contracted to units: a directed graph without cycles.

    `of` maps each node to its unit, which is named by one of its nodes. `order` lists the units so that values flow
    forwards, `supported` those that may be delegated. `sources` and `readers` are the edges.
    """

    def __init__(self, graph: Graph, computing: dict[Node, None], group_of: dict[Node, int]) -> None:
        first: dict[int, Node] = {}
        self.of: dict[Node, Node] = {}
        apart: list[tuple[Node, Node]] = []
        for node in graph.nodes:
            source: Any = node.args[0] if node in computing and node.target is operator.getitem else None
            made_here = isinstance(source, Node) and source in computing
            if node in computing and node in group_of:
                self.of[node] = first.setdefault(group_of[node], node)
                if made_here:
                    apart.append((source, node))
            else:
                self.of[node] = self.of[source] if made_here else node
        for source, node in apart:
            self._join(self.of[source], self.of[node])
        self._close_cycles(graph, computing, group_of)
        self.supported = {self.of[node] for node in computing}

    def _join(self, one: Node, other: Node) -> None:
        self.of = {node: one if unit is other else unit for node, unit in self.of.items()}

    def _close_cycles(self, graph: Graph, computing: dict[Node, None], group_of: dict[Node, int]) -> None:
        """Join groups that depend on each other, with the supported nodes in between: they fit only in one call."""
        self._connect(graph)
        components = strong_components(self.readers)
        for component in components:
            members = [node for node in graph.nodes if self.of[node] in component] if len(component) > 1 else []
            if all(node in computing for node in members):
                continue
            contracted_order(graph, {node: f"group {group_of[node]}" for node in members if node in group_of})
        if any(len(component) > 1 for component in components):
            leader = {unit: component[0] for component in components for unit in component}
            self.of = {node: leader[unit] for node, unit in self.of.items()}
            self._connect(graph)
        self.order = [component[0] for component in reversed(components)]

    def _connect(self, graph: Graph) -> None:
        self.sources: dict[Node, set[Node]] = {unit: set() for unit in self.of.values()}
        self.readers: dict[Node, set[Node]] = {unit: set() for unit in self.of.values()}
        for node in graph.nodes:
            for source in node.all_input_nodes:
                if self.of[source] is not self.of[node]:
                    self.sources[self.of[node]].add(self.of[source])
                    self.readers[self.of[source]].add(self.of[node])


def _levels(units: _Units) -> dict[Node, int]:
    """Return the partition of each supported unit, as a level.

    Among the levels that keep the number of partitions lowest, a unit takes that of its operands, or, without delegated
    operands, that of its readers: few values then cross between partitions.
    """
    earliest: dict[Node, int] = {}
    for unit in units.order:
        earliest[unit] = _lower_bound(units, unit, earliest)
    last = max((earliest[unit] for unit in units.supported), default=0)
    latest: dict[Node, int] = {}
    for unit in reversed(units.order):
        latest[unit] = min((_before(units, unit, reader, latest) for reader in units.readers[unit]), default=last)
    chosen: dict[Node, int] = {}
    for unit in units.order:
        bound = _lower_bound(units, unit, chosen)
        near_source = any(chosen[source] == bound for source in units.sources[unit] & units.supported)
        near_reader = any(latest[reader] == latest[unit] for reader in units.readers[unit] & units.supported)
        wait = unit in units.supported and near_reader and not near_source
        chosen[unit] = latest[unit] if wait else bound
    return chosen


def _lower_bound(units: _Units, unit: Node, levels: dict[Node, int]) -> int:
    """Return the lowest possible level. Levels count calls from 1; other units run after the call of their level."""
    if unit not in units.supported:
        return max((levels[source] for source in units.sources[unit]), default=0)
    steps = (levels[source] + (source not in units.supported) for source in units.sources[unit])
    return max(steps, default=1)


def _before(units: _Units, unit: Node, reader: Node, latest: dict[Node, int]) -> int:
    crosses = unit not in units.supported and reader in units.supported
    return latest[reader] - crosses
