# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The check that trusts no lifetimes: it runs the method symbolically, and each read must find its tensor intact.

The state of memory is the set of intact tensors. A write makes its tensor intact and destroys every other tensor that
shares a byte with it; a read of a tensor that is not intact is a fault. A cond takes both branches, and the tensors
intact after both are intact after it. A loop runs zero times, once and twice, so that the second iteration misses a
tensor that the first one destroys. `by_lifespans.py` is the check by lifetimes; neither shares code with the planners.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from executorch.exir.graph_module import get_control_flow_submodules
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.functions import alloc, free, view
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.memory.lifetimes.subgraphs import hop, placeholders
from executorch.exir.tensor import TensorSpec

_ITERATIONS = 2
_NO_INSTRUCTION = (alloc, free, view, operator.getitem)
# Argument positions of the carried tensors' initial values, and of the tensors that the loop iterates over; 0: none.
_LOOP_OPERANDS: dict[object, tuple[int, int]] = {hop.while_loop: (2, 0), hop.map_impl: (0, 1), hop.scan: (1, 2)}
_ARENA_BITS = 48
"""A byte of arena a has the address a * 2**48 + offset."""
_Intact = NDArray[np.bool_]
"""For each planned tensor, in the order of `_Replay.names`, whether its bytes are intact."""


def check_by_execution(
    graph_module: GraphModule,
    names: Mapping[TensorSpec, str],
    kept: Iterable[TensorSpec] = (),
    in_place: Mapping[TensorSpec, TensorSpec] | None = None,
) -> None:
    """Raise MemoryPlanningError where an instruction reads a tensor of which a byte was overwritten.

    names: the planned tensors. kept: the state that must be intact at the end, besides the outputs. in_place: result →
    the operand that its operator may overwrite, if both are at the same place.
    """
    method = _Replay(names, in_place or {})
    given = {spec for node in placeholders(graph_module) for spec in get_node_tensor_specs(node)}
    intact = method.graph(graph_module, np.array([spec in given for spec in names], dtype=np.bool_))
    method.read(kept, intact, "the end of the method")


class _Replay:
    def __init__(self, names: Mapping[TensorSpec, str], in_place: Mapping[TensorSpec, TensorSpec]) -> None:
        self.names, self.in_place = names, in_place
        self.position = {spec: position for position, spec in enumerate(names)}
        sizes = np.array([spec.nbytes() for spec in names], dtype=np.int64)
        self.start = np.array(
            [((spec.mem_id or 0) << _ARENA_BITS) + (spec.mem_offset or 0) for spec in names], dtype=np.int64
        )
        # Empty tensors share no bytes.
        self.end = np.where(sizes > 0, self.start + sizes, -1)

    def read(self, specs: Iterable[TensorSpec], intact: _Intact, where: str) -> None:
        for spec in specs:
            position = self.position.get(spec)
            if position is not None and not intact[position]:
                raise MemoryPlanningError(
                    where, f"reads {self.names[spec]}, whose bytes were overwritten: {spec.debug()}"
                )

    def write(self, specs: Iterable[TensorSpec], intact: _Intact) -> None:
        for spec in specs:
            position = self.position.get(spec)
            if position is not None:
                intact &= (self.start >= self.end[position]) | (self.end <= self.start[position])
                intact[position] = True

    def share_bytes(self, one: TensorSpec, other: TensorSpec) -> bool:
        """Return whether two different tensors are planned and have a byte in common."""
        places = self.position.get(one), self.position.get(other)
        if one is other or places[0] is None or places[1] is None:
            return False
        left, right = places
        return bool(self.start[left] < self.end[right] and self.start[right] < self.end[left])

    def step(self, reads: Sequence[TensorSpec], writes: Sequence[TensorSpec], intact: _Intact, where: str) -> None:
        """Run one instruction, which may write to a tensor that it reads only if its operator works in place."""
        self.read(reads, intact, where)
        for result in writes:
            for operand in reads:
                if not self.share_bytes(result, operand):
                    continue
                if self.in_place.get(result) is operand and result.mem_offset == operand.mem_offset:
                    continue
                raise MemoryPlanningError(
                    where, f"writes {self.names[result]} over its own operand {self.names[operand]}: {result.debug()}"
                )
        self.write(writes, intact)
        self.read(writes, intact, f"{where}, whose results share bytes,")

    def graph(self, graph_module: GraphModule, intact: _Intact) -> _Intact:
        """Run a graph: from the tensors intact before it, return those intact after it."""
        calls: dict[Node, list[GraphModule]] = {}
        for _, subgraph, node in get_control_flow_submodules(graph_module):
            calls.setdefault(node, []).append(subgraph)
        for node in graph_module.graph.nodes:
            if node in calls:
                intact = self.control_flow(node, calls[node], intact)
            elif node.op == "output":
                self.read(_specs(node.all_input_nodes), intact, node.name)
            elif node.op == "call_function" and node.target not in _NO_INSTRUCTION:
                reads = _specs(source for source in node.all_input_nodes if source.target is not alloc)
                self.step(reads, get_node_tensor_specs(node), intact, node.name)
        return intact

    def control_flow(self, node: Node, subgraphs: list[GraphModule], intact: _Intact) -> _Intact:
        if node.target is hop.cond:
            predicate, _, _, _ = node.args
            self.read(_specs([predicate]), intact, node.name)
            ends = [self.assigned(node, get_node_tensor_specs(node), subgraph, intact.copy()) for subgraph in subgraphs]
            return _all_of(ends)
        return self.loop(node, subgraphs, intact)

    def assigned(self, node: Node, targets: list[TensorSpec], subgraph: GraphModule, intact: _Intact) -> _Intact:
        """Run a subgraph, then copy its first outputs to `targets`."""
        intact = self.graph(subgraph, intact)
        values = _specs(tree_leaves(subgraph.graph.output_node().args[0]))
        self.step(values[: len(targets)], targets, intact, node.name)
        return intact

    def loop(self, node: Node, subgraphs: list[GraphModule], intact: _Intact) -> _Intact:
        """Run a loop: while_loop carries all of its results, map collects them slice by slice, scan does both."""
        results, body = get_node_tensor_specs(node), subgraphs[-1]
        is_while = node.target is hop.while_loop
        initial, over = (_specs(tree_leaves(node.args[i])) if i else [] for i in _LOOP_OPERANDS[node.target])
        first = len(initial)
        carried, collected = results[:first], results[first:]
        slices = _specs(placeholders(body)[first : first + len(over)])
        self.step(initial, carried, intact, node.name)
        self.write(collected, intact)
        ends = [intact.copy()]
        for _ in range(_ITERATIONS):
            if is_while:
                intact = self.graph(subgraphs[0], intact)
                ends.append(intact.copy())
            self.step(over, slices, intact, node.name)
            intact = self.graph(body, intact)
            values = _specs(tree_leaves(body.graph.output_node().args[0]))
            self.step([*values[first:], *collected], collected, intact, node.name)
            self.step(values[:first], carried, intact, node.name)
            ends.append(intact.copy())
        return _all_of(ends)


def _all_of(ends: Sequence[_Intact]) -> _Intact:
    """Return the tensors that are intact at all ends."""
    intact: _Intact = ends[0].copy()
    for end in ends[1:]:
        intact &= end
    return intact


def _specs(nodes: Iterable[object]) -> list[TensorSpec]:
    return [spec for node in nodes if isinstance(node, Node) for spec in get_node_tensor_specs(node)]
