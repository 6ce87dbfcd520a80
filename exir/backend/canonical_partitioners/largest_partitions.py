# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The largest partitions of supported nodes that can still be called: greedy merging that never closes a cycle.

Units (groups that must stay together, single nodes) are taken in graph order; each joins the latest partition that it
can join without making the contracted graph cyclic, else it starts one. Units need not touch each other to share a
partition: one call is cheaper than two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from torch.fx import Graph, Node

from executorch.exir.backend.partition_order import contracted_order

__all__ = ["largest_partitions"]


def largest_partitions(
    graph: Graph, is_supported: Callable[[Node], bool], groups: Iterable[Sequence[Node]] = ()
) -> list[list[Node]]:
    """Partitions in graph order, their nodes in graph order (supported placeholders among them). Taking an element of
    a list goes with what makes the list.

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
    grouped = {node: f"group {group_of[node]}" for node in computing if node in group_of}
    if grouped:
        contracted_order(graph, grouped)  # raises where a group has no place

    contraction = _Contraction(graph)
    _merge_groups(contraction, grouped)
    units = _merge_greedily(contraction, computing)
    placeholders = [node for node in supported if node.op == "placeholder"]
    extra = _place_placeholders(contraction, units, placeholders, grouped, group_of)
    found = [extra.get(unit, []) + contraction.nodes_of(unit) for unit in units]
    return sorted(found, key=lambda nodes: next(contraction.position[n] for n in nodes if n.op != "placeholder"))


def _merge_groups(contraction: _Contraction, grouped: dict[Node, str]) -> None:
    first: dict[str, Node] = {}
    for node, group in grouped.items():
        contraction.merge(contraction.unit_of[first.setdefault(group, node)], contraction.unit_of[node])


def _merge_greedily(contraction: _Contraction, nodes: list[Node]) -> dict[int, None]:
    units: dict[int, None] = {}
    for node in nodes:
        unit = contraction.unit_of[node]
        source = node.args[0] if node.target is operator.getitem else None
        if isinstance(source, Node) and contraction.unit_of[source] in units:
            contraction.merge(contraction.unit_of[source], unit)
        elif unit not in units:
            detours = contraction.joined_by_detours(unit)
            target = next((one for one in reversed(units) if one not in detours), None)
            if target is None:
                units[unit] = None
            else:
                contraction.merge(target, unit)
    return units


def _place_placeholders(
    contraction: _Contraction,
    units: dict[int, None],
    placeholders: list[Node],
    grouped: dict[Node, str],
    group_of: dict[Node, int],
) -> dict[int, list[Node]]:
    """Supported placeholders go with their group, else with their first reader. Being ready from the start, they cannot
    close a cycle, so they take no part in the merging.
    """
    unit_of_group = {group: contraction.unit_of[node] for node, group in grouped.items()}
    placed: dict[int, list[Node]] = {}
    for node in placeholders:
        candidates = [
            unit_of_group.get(f"group {group_of.get(node)}"),
            *(contraction.unit_of[user] for user in node.users),
        ]
        unit = next((unit for unit in candidates if unit in units), None)
        if unit is not None:
            placed.setdefault(unit, []).append(node)
    return placed


class _Contraction:
    """The graph with some nodes merged to units; a unit is named by the position of its first merged node."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = list(graph.nodes)
        self.position = {node: place for place, node in enumerate(self._nodes)}
        self.unit_of = dict(self.position)
        self._members = {place: [place] for place in range(len(self._nodes))}
        self._successors = {
            place: {self.position[user] for user in node.users} for node, place in self.position.items()
        }
        self._predecessors = {
            place: {self.position[source] for source in node.all_input_nodes} for node, place in self.position.items()
        }

    def nodes_of(self, unit: int) -> list[Node]:
        return [self._nodes[place] for place in sorted(self._members[unit])]

    def merge(self, unit: int, other: int) -> None:
        """Makes `other` part of `unit`."""
        if unit == other:
            return
        for place in self._members[other]:
            self.unit_of[self._nodes[place]] = unit
        self._members[unit] += self._members.pop(other)
        for links, back in ((self._successors, self._predecessors), (self._predecessors, self._successors)):
            for linked in links.pop(other):
                back[linked].discard(other)
                if linked != unit:
                    back[linked].add(unit)
                    links[unit].add(linked)
            links[unit].discard(other)

    def joined_by_detours(self, unit: int) -> set[int]:
        """The units that a path of more than one step leads from or to: merging with one would close a cycle."""
        return self._beyond(self._predecessors, unit) | self._beyond(self._successors, unit)

    @staticmethod
    def _beyond(links: dict[int, set[int]], unit: int) -> set[int]:
        seen: set[int] = set()
        waiting = [far for near in links[unit] for far in links[near]]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(links[current])
        return seen
