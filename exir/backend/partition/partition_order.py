# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""An order of a graph's nodes in which every partition is one block, or the reason why there is none.

      a ─▶ b ─▶ c        {a, c} cannot be one partition: it would have to run before b and after b.

Replacing partitions by calls contracts each to a single vertex; the contracted graph must be free of cycles. That is
checked for all partitions of a graph together, because two partitions that are convex one by one can still wait for
each other.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from torch.fx import Graph, Node

from executorch.exir.backend.partition.partition_error import PartitionError, node_and_source

__all__ = ["contracted_order"]

# A vertex of the contracted graph: a partition's tag, or a node outside of all partitions.
_Unit = str | Node


def contracted_order(graph: Graph, partition_of: Mapping[Node, str]) -> list[Node]:
    """Return all nodes of `graph` in a topological order in which each partition is one block.

    The order is as close to the graph's as possible, so that names assigned in this order are stable. Raises
    PartitionError with the nodes of a cycle through a partition.
    """
    members: dict[_Unit, list[Node]] = {}
    for node in graph.nodes:
        members.setdefault(partition_of.get(node, node), []).append(node)
    rank = {unit: position for position, unit in enumerate(members)}
    predecessors: dict[_Unit, set[_Unit]] = {unit: set() for unit in members}
    successors: dict[_Unit, set[_Unit]] = {unit: set() for unit in members}
    for node in graph.nodes:
        unit = partition_of.get(node, node)
        for source in node.all_input_nodes:
            source_unit = partition_of.get(source, source)
            if source_unit is not unit and source_unit != unit:
                predecessors[unit].add(source_unit)
                successors[source_unit].add(unit)

    waiting_for = {unit: len(sources) for unit, sources in predecessors.items()}
    units = list(members)
    ready = [rank[unit] for unit in units if waiting_for[unit] == 0]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        unit = units[heapq.heappop(ready)]
        order.extend(members[unit])
        del waiting_for[unit]
        for successor in successors[unit]:
            waiting_for[successor] -= 1
            if waiting_for[successor] == 0:
                heapq.heappush(ready, rank[successor])
    if waiting_for:
        raise PartitionError(_describe_cycle(predecessors, set(waiting_for), rank, members, partition_of))
    return order


def _describe_cycle(
    predecessors: Mapping[_Unit, set[_Unit]],
    stuck: set[_Unit],
    rank: Mapping[_Unit, int],
    members: Mapping[_Unit, list[Node]],
    partition_of: Mapping[Node, str],
) -> str:
    path = [min(stuck, key=rank.__getitem__)]
    while True:  # every stuck unit waits for a stuck unit, so walking back meets itself
        source = min((unit for unit in predecessors[path[-1]] if unit in stuck), key=rank.__getitem__)
        if source in path:
            cycle = list(reversed(path[path.index(source) :]))
            start = next(place for place, unit in enumerate(cycle) if isinstance(unit, str))
            cycle = cycle[start:] + cycle[:start]
            break
        path.append(source)
    steps = []
    for unit, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        node, user = next(
            (node, user) for node in members[unit] for user in node.users if partition_of.get(user, user) == following
        )
        owner = f" [partition {unit}]" if isinstance(unit, str) else ""
        steps.append(f"  {node_and_source(node)}{owner} is used by {node_and_source(user)}")
    tags = ", ".join(repr(unit) for unit in cycle if isinstance(unit, str))
    return (
        f"the nodes tagged {tags} cannot be delegated as one piece each: values leave a partition and come back to it. "
        "The cycle:\n" + "\n".join(steps)
    )
