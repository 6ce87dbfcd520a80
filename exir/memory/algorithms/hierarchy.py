# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memories of different speed: the choice of a memory for each tensor."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.algorithms.exact import plan_exactly
from executorch.exir.memory.arenas import InPlace, lifespan_of
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.functions import alloc, free, view
from executorch.exir.memory.lifetimes.in_place import find_in_place
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.tensor import TensorSpec

_MOVES_NOTHING = (alloc, free, view, operator.getitem)


class MemoryHierarchy:
    """A planning algorithm: `MemoryPlanningPass(MemoryHierarchy([64 * 1024]))` plans a fast memory of 64 KiB as arena 1
    (planned buffer 0 of the runtime) and everything else as arena 2.

    capacities: bytes of each memory but the last one, fastest first: arenas 1, 2, …; the last one has no limit.

    The rule: tensors are sorted by accesses (instructions that write or read them) per step that they are alive, at
    equal rates the larger one first. Each goes to the fastest memory whose capacity is not exceeded at any step. Where
    the tensors of a memory do not fit into its capacity, the last one moves on to the next memory. Loop bodies count
    once. A tensor whose spec.mem_id is set already stays there. Raises ValueError for a capacity that is not a positive
    integer.
    """

    def __init__(self, capacities: Sequence[int]) -> None:
        if not capacities or any(not isinstance(size, int) or size <= 0 for size in capacities):
            raise ValueError(f"expected the bytes of each memory but the last, all above 0; found {list(capacities)}")
        self.capacities = tuple(capacities)

    def __call__(
        self,
        alignment: int,
        specs: Collection[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None,
        extra_padding: int = 0,
    ) -> MemoryAlgoResult:
        """Plan, like the other algorithms of `executorch.exir.memory_planning`.

        Raises MemoryPlanningError if a mem_id names no memory, or if the tensors with a mem_id do not fit.
        """
        last = len(self.capacities) + 1
        chosen = [spec for spec in specs if spec.mem_id is not None]
        for spec in chosen:
            if not 1 <= (spec.mem_id or 0) <= last:
                raise MemoryPlanningError(spec.debug(), f"expected mem_id 1 to {last}, one for each memory")
        count = _accesses(graph_module)
        waiting = sorted(
            (spec for spec in specs if spec.mem_id is None),
            key=lambda spec: (-count[spec] / lifespan_of(spec).steps, -spec.nbytes(), spec.lifetime[0]),
        )
        result = MemoryAlgoResult({}, [0] * (last + 1), [0] * (last + 1))
        in_place = find_in_place(graph_module, specs, graph_signature)
        for mem_id, capacity in enumerate((*self.capacities, None), 1):
            fixed = [spec for spec in chosen if spec.mem_id == mem_id]
            movable = _choose(fixed, waiting, capacity, alignment, in_place)
            while True:
                for spec in movable:
                    spec.mem_id = mem_id
                part = plan_exactly(alignment, [*fixed, *movable], extra_padding, in_place)
                size = part.bufsizes[mem_id] if fixed or movable else 0
                if capacity is None or size <= capacity:
                    break
                if not movable:
                    raise MemoryPlanningError(
                        f"memory {mem_id}",
                        f"the tensors with this mem_id take {size} bytes, expected at most {capacity}",
                    )
                movable.pop().mem_id = None
            placed = set(movable)
            waiting = [spec for spec in waiting if spec not in placed]
            result.spec_dict |= part.spec_dict
            if fixed or movable:
                result.bufsizes[mem_id], result.lower_bounds[mem_id] = size, part.lower_bounds[mem_id]
        return result


def _accesses(graph_module: GraphModule) -> Counter[TensorSpec]:
    """Return the number of instructions that write or read each tensor."""
    accesses: Counter[TensorSpec] = Counter()
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            if node.op != "call_function" or node.target in _MOVES_NOTHING:
                continue
            accesses.update(get_node_tensor_specs(node))
            for given in node.all_input_nodes:
                if given.target is not alloc:  # the operator's result, which is counted
                    accesses.update(get_node_tensor_specs(given))
    return accesses


def _choose(
    fixed: Sequence[TensorSpec],
    waiting: Sequence[TensorSpec],
    capacity: int | None,
    alignment: int,
    in_place: InPlace,
) -> list[TensorSpec]:
    """Return the tensors of `waiting` that join `fixed` without more than `capacity` bytes alive at any step.

    An operand that may be overwritten counts up to the step before its result.
    """
    if capacity is None:
        return list(waiting)
    ends = {operand: result.lifetime[0] for result, operand in in_place.items()}
    last_step = max((lifespan_of(spec).last for spec in (*fixed, *waiting)), default=0)
    alive = np.zeros(last_step + 1, dtype=np.int64)

    def during(spec: TensorSpec) -> slice:
        lifespan, end = lifespan_of(spec), ends.get(spec)
        return slice(lifespan.first, min(lifespan.last + 1, end or lifespan.last + 1))

    for spec in fixed:
        alive[during(spec)] += spec.realign(alignment)
    chosen = []
    for spec in waiting:
        size = spec.realign(alignment)
        if alive[during(spec)].max(initial=0) + size <= capacity:
            alive[during(spec)] += size
            chosen.append(spec)
    return chosen
