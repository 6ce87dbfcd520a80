# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The finished plan of a method as plain values: place and lifetime of every tensor, and a proof of how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch.fx import GraphModule, Node

from executorch.exir.error import module_name
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.arenas import lifespan_of
from executorch.exir.memory.functions import alloc
from executorch.exir.memory.lifetimes.in_place import takes_over
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.memory.problem import Buffer, Problem
from executorch.exir.tensor import TensorSpec

MEMORY_PLAN = "memory_plan"
"""Key of `graph_module.meta` under which the planned method has its MemoryPlan."""


@dataclass(frozen=True)
class PlannedTensor:
    """Bytes [offset, offset + size) of arena mem_id in steps [first, last].

    name: of the node that computes it. operator: the operator of that node ("input" for placeholders). module: path
    of the module that calls the operator, "" if unknown. in_place_of: name of the tensor whose bytes it takes over in
    its first step, "" if none.
    """

    name: str
    operator: str
    module: str
    dtype: str
    shape: tuple[int, ...]
    mem_id: int
    offset: int
    size: int
    first: int
    last: int
    in_place_of: str


@dataclass(frozen=True)
class Arena:
    """Size of one arena, and its proof.

    size: planned bytes. most_alive: the most bytes alive at one step. lower_bound: proven lower bound of `size`:
    most_alive, or more where a search has shown that no plan reaches most_alive.
    """

    mem_id: int
    size: int
    most_alive: int
    lower_bound: int

    @property
    def gap(self) -> float:
        """Bytes above the lower bound, as a fraction of it."""
        return (self.size - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0

    @property
    def is_optimal(self) -> bool:
        """Return whether the bound proves that no plan is smaller."""
        return self.size <= self.lower_bound


@dataclass(frozen=True)
class MemoryPlan:
    """Memory plan of a method: places of tensors, sizes of arenas.

    tensors: in the order of their first step. steps: the method's number of steps.
    """

    tensors: tuple[PlannedTensor, ...]
    arenas: tuple[Arena, ...]
    steps: int

    @property
    def size(self) -> int:
        """Bytes of all arenas."""
        return sum(arena.size for arena in self.arenas)

    @property
    def lower_bound(self) -> int:
        """Proven lower bound of the bytes of any plan of these tensors in these arenas."""
        return sum(arena.lower_bound for arena in self.arenas)

    @property
    def gap(self) -> float:
        """Bytes above the lower bound, as a fraction of it."""
        return (self.size - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0

    @property
    def is_optimal(self) -> bool:
        """Return whether the bound proves that no plan is smaller."""
        return all(arena.is_optimal for arena in self.arenas)


def describe_plan(
    graph_module: GraphModule,
    names: Mapping[TensorSpec, str],
    sizes: Sequence[int],
    steps: int,
    in_place: Mapping[TensorSpec, TensorSpec],
    proven: Sequence[int] = (),
) -> MemoryPlan:
    """Return the plan that the specs hold.

    names: the planned tensors. sizes: of the arenas, entry 0 reserved. in_place: result → operand whose bytes it may
    take. proven: lower bounds by arena that the algorithm has proven beyond the most bytes alive.
    """
    nodes = _makers(graph_module)
    taken = {result: operand for result, operand in in_place.items() if takes_over(result, operand)}
    tensors = []
    for spec, name in names.items():
        node = nodes.get(spec)
        lifespan = lifespan_of(spec)
        tensors.append(
            PlannedTensor(
                name=name,
                operator=_operator(node),
                module=module_name(node),
                dtype=str(spec.dtype).removeprefix("torch."),
                shape=tuple(int(size) for size in spec.shape),
                mem_id=spec.mem_id or 0,
                offset=spec.mem_offset or 0,
                size=spec.nbytes(),
                first=lifespan.first,
                last=lifespan.last,
                in_place_of=names[taken[spec]] if spec in taken else "",
            )
        )
    arenas = []
    for mem_id, size in enumerate(sizes):
        if mem_id == 0:
            continue
        alive = _most_alive([spec for spec in names if spec.mem_id == mem_id], in_place)
        bound = max(alive, proven[mem_id] if mem_id < len(proven) else 0)
        arenas.append(Arena(mem_id, size, alive, bound))
    return MemoryPlan(tuple(sorted(tensors, key=lambda tensor: (tensor.first, tensor.offset))), tuple(arenas), steps)


def _most_alive(specs: list[TensorSpec], in_place: Mapping[TensorSpec, TensorSpec]) -> int:
    """Return the most bytes alive at one step. An operand that may be overwritten ends a step before its result."""
    members = set(specs)
    ends = {operand: result.lifetime[0] for result, operand in in_place.items() if result in members}
    # A user's algorithm need not round sizes up to the alignment.
    aligned = all((spec.mem_offset or 0) % spec.alignment == 0 for spec in specs)
    buffers = []
    for spec in specs:
        lifespan, end = lifespan_of(spec), ends.get(spec)
        last = lifespan.last if end is None else min(lifespan.last, end - 1)
        buffers.append(Buffer.of(spec.allocated_memory if aligned else spec.nbytes(), lifespan.first, last))
    return Problem(buffers).lower_bound


def _makers(graph_module: GraphModule) -> dict[TensorSpec, Node]:
    """Return the first node that stands for each tensor, except for allocations."""
    makers: dict[TensorSpec, Node] = {}
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            if node.target is not alloc and node.op != "output":
                for spec in get_node_tensor_specs(node):
                    makers.setdefault(spec, node)
    return makers


def _operator(node: Node | None) -> str:
    if node is None or node.op == "placeholder":
        return "input"
    name = getattr(node.target, "name", None)
    return str(name()) if callable(name) else str(getattr(node.target, "__name__", node.target))
