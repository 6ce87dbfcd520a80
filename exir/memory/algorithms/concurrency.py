# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The tasks of a method that may run at the same time, and a plan that allows it.

        ┌─ b = f(a) ─ c = g(b) ─┐        c may lie where a was: all tasks that use a are done before c is used.
    a ──┤                       ├─ e     d may not lie where b was: h may run before, after or while g reads b.
        └─ d = h(a) ────────────┘

Tasks are the nodes of the method's own graph; a control-flow node with its subgraphs is one task.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

from executorch.exir.graph_module import all_graph_modules, get_control_flow_submodules
from executorch.exir.memory.arenas import by_arena, lifespan_of, plan_arenas
from executorch.exir.memory.functions import alloc, view
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.memory.solve.first_fit import first_fit_apart
from executorch.exir.tensor import TensorSpec

CONCURRENT = "concurrent"
"""Key of `graph_module.meta`: True once the method has a plan that lets independent tasks run at the same time."""

_NO_ACCESS = (alloc, view, operator.getitem)


@dataclass
class TaskOrder:
    """Order of tasks. A set of tasks is an integer with a bit for each task.

    before[t]: t and the tasks that end before t begins. users: the tasks that access a tensor.
    """

    before: list[int] = field(default_factory=list)
    users: dict[TensorSpec, int] = field(default_factory=dict)

    def all_before(self, first: TensorSpec, second: TensorSpec) -> bool:
        """Return whether each user of `first` ends before each user of `second` begins, or is the same task."""
        return not self.users.get(first, 0) & ~self.common(second)

    def common(self, spec: TensorSpec) -> int:
        """Return the tasks that precede every user of `spec`; with a single user, also that one."""
        shared = (1 << len(self.before)) - 1
        users = self.users.get(spec, 0)
        while users:
            lowest = users & -users
            shared &= self.before[lowest.bit_length() - 1]
            users ^= lowest
        return shared


def find_task_order(graph_module: GraphModule) -> TaskOrder:
    """Return the order that the data of a prepared graph requires, wherever its tensors lie."""
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
    """Return `tasks` and all tasks that are done before them."""
    closure = 0
    while tasks:
        highest = tasks.bit_length() - 1
        closure |= before[highest]
        tasks &= ~before[highest]
    return closure


def _accesses(node: Node, bodies: Iterable[GraphModule]) -> tuple[set[TensorSpec], set[TensorSpec]]:
    """Return the tensors that a task reads, and those that it writes."""
    reads: set[TensorSpec] = set()
    writes: set[TensorSpec] = set()
    inner = [node for body in bodies for module in all_graph_modules(body) for node in module.graph.nodes]
    for member in [node, *inner]:
        if member.target in _NO_ACCESS:
            continue
        for source in member.all_input_nodes:
            if source.target is not alloc:
                reads.update(get_node_tensor_specs(source))
        writes.update(get_node_tensor_specs(member) if member.op == "call_function" else ())
        if member.op == "placeholder":  # the loop copies its inputs there
            writes.update(spec for spec in get_node_tensor_specs(member) if spec not in _given(node))
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
    """Let tensors share bytes only if every task of one is done before any task of the other begins, in each order in
    which the tasks may run. `specs` have their lifetimes set. Sizes and padding in bytes.
    """
    order = find_task_order(graph_module)
    result = MemoryAlgoResult({}, [0, 0], [0, 0])
    for mem_id, members in by_arena(specs).items():
        solver = partial(first_fit_apart, apart=_used_together(members, order))
        arena = plan_arenas(solver, alignment, members, extra_padding)
        result.spec_dict |= arena.spec_dict
        for sizes, needed in ((result.bufsizes, arena.bufsizes), (result.lower_bounds, arena.lower_bounds)):
            sizes += [0] * (mem_id + 1 - len(sizes))
            sizes[mem_id] = needed[mem_id]
    return result


def _used_together(members: Sequence[TensorSpec], order: TaskOrder) -> NDArray[np.bool_]:
    """Return which pairs of tensors may be in use at the same time."""
    together = np.zeros((len(members), len(members)), dtype=np.bool_)
    lifespans = [lifespan_of(spec) for spec in members]
    users = [order.users.get(spec, 0) for spec in members]
    others = [~order.common(spec) for spec in members]
    for i in range(len(members)):
        for j in range(i):
            first, second = (i, j) if lifespans[i].first < lifespans[j].first else (j, i)
            is_pair = lifespans[first].last >= lifespans[second].first or bool(users[first] & others[second])
            together[i, j] = together[j, i] = is_pair
    return together
