# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What of a method may run at the same time, and a plan that leaves it so.

        ┌─ b = f(a) ─ c = g(b) ─┐        c may lie where a was: whoever uses c has waited for all who use a.
    a ──┤                       ├─ e     d may not lie where b was: h may run before, after, and while g reads b.
        └─ d = h(a) ────────────┘

Tasks are the nodes of the method's own graph; control flow is one task with all that its subgraphs do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

from executorch.exir.graph_module import all_graph_modules, get_control_flow_submodules
from executorch.exir.memory.functions import alloc, view
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.memory.solve.arenas import by_arena, plan_arenas
from executorch.exir.memory.solve.packing import Block, Packing, lower_bound, lowest_gap
from executorch.exir.tensor import TensorSpec

CONCURRENT = "concurrent"
"""Key of `graph_module.meta`: the method is planned so that what is independent may run at the same time."""

_NO_ACCESS = (alloc, view, operator.getitem)
# Which blocks to place first; the lowest plan is taken.
_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda b: (-b.size, b.first),
    lambda b: (-b.size * (b.last - b.first + 1), b.first),
    lambda b: (b.first, -b.size),
)


@dataclass
class TaskOrder:
    """Tasks as bits of integers. before[t]: those that are done when t begins, and t. users: who uses a tensor."""

    before: list[int] = field(default_factory=list)
    users: dict[TensorSpec, int] = field(default_factory=dict)

    def all_before(self, first: TensorSpec, second: TensorSpec) -> bool:
        """Whether every task that uses `first` is done when one that uses `second` begins, or is the same."""
        return not self.users.get(first, 0) & ~self.common(second)

    def common(self, spec: TensorSpec) -> int:
        """The tasks that are done when any that uses `spec` begins."""
        found = (1 << len(self.before)) - 1
        users = self.users.get(spec, 0)
        while users:
            lowest = users & -users
            found &= self.before[lowest.bit_length() - 1]
            users ^= lowest
        return found


def find_task_order(graph_module: GraphModule) -> TaskOrder:
    """The order that the tensors and numbers of a prepared graph ask for, wherever tensors lie."""
    order = TaskOrder()
    tasks: dict[Node, int] = {}
    written: dict[TensorSpec, int] = {}
    read_since: dict[TensorSpec, int] = {}
    bodies: dict[Node, list[GraphModule]] = {}
    for _, subgraph, node in get_control_flow_submodules(graph_module):
        bodies.setdefault(node, []).append(subgraph)
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or node.target is alloc:
            continue
        reads, writes = _accesses(node, bodies.get(node, []))
        waits_for = 0
        for source in node.all_input_nodes:
            waits_for |= 1 << tasks[source] if source in tasks else 0
        for spec in reads | writes:
            waits_for |= written.get(spec, 0)
        for spec in writes:
            waits_for |= read_since.pop(spec, 0)
        task = len(order.before)
        tasks[node] = task
        order.before.append(1 << task | _closure(order.before, waits_for))
        for spec in reads | writes:
            order.users[spec] = order.users.get(spec, 0) | 1 << task
        read_since |= {spec: read_since.get(spec, 0) | 1 << task for spec in reads - writes}
        written |= dict.fromkeys(writes, 1 << task)
    return order


def _closure(before: Sequence[int], tasks: int) -> int:
    """`tasks` and all that are done before them."""
    found = 0
    while tasks:
        highest = tasks.bit_length() - 1
        found |= before[highest]
        tasks &= ~before[highest]
    return found


def _accesses(node: Node, bodies: Iterable[GraphModule]) -> tuple[set[TensorSpec], set[TensorSpec]]:
    """The tensors that a task reads, and those that it writes."""
    reads: set[TensorSpec] = set()
    writes: set[TensorSpec] = set()
    inner = [each for body in bodies for held in all_graph_modules(body) for each in held.graph.nodes]
    for each in [node, *inner]:
        if each.target in _NO_ACCESS:
            continue
        for source in each.all_input_nodes:
            if source.target is not alloc:
                reads.update(get_node_tensor_specs(source))
        writes.update(get_node_tensor_specs(each) if each.op == "call_function" else ())
        if each.op == "placeholder":  # what a loop takes in has been put there
            writes.update(spec for spec in get_node_tensor_specs(each) if spec not in _given(node))
    return reads, writes


def _given(node: Node) -> set[TensorSpec]:
    return {spec for source in node.all_input_nodes for spec in get_node_tensor_specs(source)}


def concurrent(
    alignment: int,
    specs: Collection[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
) -> MemoryAlgoResult:
    """Tensors share bytes only if all that uses one of them is done before anything uses the other, in any order in
    which the tasks may run. `specs` have their lifetimes set. Sizes and padding in bytes.
    """
    order = find_task_order(graph_module)
    result = MemoryAlgoResult({}, [0, 0], [0, 0])
    for mem_id, members in by_arena(specs).items():
        meet = _meetings(members, order)
        arena = plan_arenas(partial(_pack, meet=meet), alignment, members, extra_padding)
        result.spec_dict |= arena.spec_dict
        for sizes, found in ((result.bufsizes, arena.bufsizes), (result.lower_bounds, arena.lower_bounds)):
            sizes += [0] * (mem_id + 1 - len(sizes))
            sizes[mem_id] = found[mem_id]
    return result


def _meetings(members: Sequence[TensorSpec], order: TaskOrder) -> NDArray[np.bool_]:
    """Which of the tensors may be in use together."""
    meet = np.zeros((len(members), len(members)), dtype=np.bool_)
    users = [order.users.get(spec, 0) for spec in members]
    others = [~order.common(spec) for spec in members]
    for i, spec in enumerate(members):
        for j in range(i):
            first, second = (i, j) if _first(spec) < _first(members[j]) else (j, i)
            together = _last(members[first]) >= _first(members[second])
            meet[i, j] = meet[j, i] = together or bool(users[first] & others[second])
    return meet


def _first(spec: TensorSpec) -> int:
    return spec.lifetime[0] or 0


def _last(spec: TensorSpec) -> int:
    return spec.lifetime[1] or 0


def _pack(blocks: Sequence[Block], meet: NDArray[np.bool_]) -> Packing:
    """Each block in the lowest gap between those that it meets. No plan for one thread, and so none, is below the sum
    of what is alive at one step."""
    bound = lower_bound(blocks)
    sizes = np.array([block.size for block in blocks], dtype=np.int64)
    best: Packing | None = None
    for key in _ORDERS:
        offsets = np.zeros(len(blocks), dtype=np.int64)
        placed = np.zeros(len(blocks), dtype=np.bool_)
        for index in sorted(range(len(blocks)), key=lambda i: (*key(blocks[i]), i)):
            around = meet[index] & placed
            offsets[index] = lowest_gap(offsets[around], sizes[around], blocks[index].size)
            placed[index] = True
        height = int((offsets + sizes).max())
        if best is None or height < best.height:
            best = Packing(offsets.tolist(), height, bound)
    assert best is not None
    return best
