# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Several memories of different speed: which tensor goes to which."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.functions import alloc, free, view
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.memory.solve.exact import IN_PLACE, exact
from executorch.exir.tensor import TensorSpec

_MOVES_NOTHING = (alloc, free, view, operator.getitem)


class MemoryHierarchy:
    """A planning algorithm: `MemoryPlanningPass(MemoryHierarchy([64 * 1024]))` plans a fast memory of 64 KiB as arena 1
    (planned buffer 0 of the runtime) and everything else as arena 2.

    capacities: bytes of each memory but the last one, fastest first: arenas 1, 2, …; the last one has no limit.

    The rule: tensors are taken in the order of how often they are accessed (written, or read by an instruction) for
    each step that they are alive, at equal rates the larger one first. A tensor goes to the fastest memory in which at
    no step more is alive than its capacity. Where what was chosen cannot be packed into the capacity, the last one
    chosen leaves for the next memory. Loop bodies count once. A tensor whose spec.mem_id is set already stays there.
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
        """As other algorithms of `executorch.exir.memory_planning`. MemoryPlanningError: what was chosen by mem_id does
        not fit, or names a memory that is not there."""
        last = len(self.capacities) + 1
        chosen = [spec for spec in specs if spec.mem_id is not None]
        for spec in chosen:
            if not 1 <= (spec.mem_id or 0) <= last:
                raise MemoryPlanningError(spec.debug(), f"expected mem_id 1 to {last}, one for each memory")
        count = _accesses(graph_module)
        waiting = sorted(
            (spec for spec in specs if spec.mem_id is None),
            key=lambda spec: (-count[spec] / _steps(spec), -spec.nbytes(), spec.lifetime[0]),
        )
        whole = MemoryAlgoResult({}, [0] * (last + 1), [0] * (last + 1))
        in_place = graph_module.meta.get(IN_PLACE, {})
        for mem_id, capacity in enumerate((*self.capacities, None), 1):
            held = [spec for spec in chosen if spec.mem_id == mem_id]
            free_to_leave = _choose(held, waiting, capacity, alignment, in_place)
            while True:
                for spec in free_to_leave:
                    spec.mem_id = mem_id
                part = exact(alignment, [*held, *free_to_leave], graph_module, graph_signature, extra_padding)
                size = part.bufsizes[mem_id] if held or free_to_leave else 0
                if capacity is None or size <= capacity:
                    break
                if not free_to_leave:
                    raise MemoryPlanningError(
                        f"memory {mem_id}", f"what was chosen for it takes {size} bytes, expected at most {capacity}"
                    )
                free_to_leave.pop().mem_id = None
            placed = set(free_to_leave)
            waiting = [spec for spec in waiting if spec not in placed]
            whole.spec_dict |= part.spec_dict
            if held or free_to_leave:
                whole.bufsizes[mem_id], whole.lower_bounds[mem_id] = size, part.lower_bounds[mem_id]
        return whole


def _steps(spec: TensorSpec) -> int:
    first, last = spec.lifetime
    if first is None or last is None:
        raise MemoryPlanningError(spec.debug(), "the tensor has no lifetime")
    return last - first + 1


def _accesses(graph_module: GraphModule) -> Counter[TensorSpec]:
    """How many instructions write or read each tensor."""
    found: Counter[TensorSpec] = Counter()
    for held in all_graph_modules(graph_module):
        for node in held.graph.nodes:
            if node.op != "call_function" or node.target in _MOVES_NOTHING:
                continue
            found.update(get_node_tensor_specs(node))
            for given in node.all_input_nodes:
                if given.target is not alloc:  # the operator's result, which is counted
                    found.update(get_node_tensor_specs(given))
    return found


def _choose(
    held: Sequence[TensorSpec],
    waiting: Sequence[TensorSpec],
    capacity: int | None,
    alignment: int,
    in_place: dict[TensorSpec, TensorSpec],
) -> list[TensorSpec]:
    """Those of `waiting`, in their order, with which, and `held`, at no step more than `capacity` bytes are alive. An
    operand that may be overwritten counts up to the step before its result."""
    if capacity is None:
        return list(waiting)
    ends = {operand: result.lifetime[0] for result, operand in in_place.items()}
    alive = np.zeros(max((_end(spec) for spec in (*held, *waiting)), default=0) + 1, dtype=np.int64)

    def during(spec: TensorSpec) -> slice:
        return slice(spec.lifetime[0], min(_end(spec), (ends.get(spec) or _end(spec) + 1) - 1) + 1)

    for spec in held:
        alive[during(spec)] += spec.realign(alignment)
    found = []
    for spec in waiting:
        size = spec.realign(alignment)
        if alive[during(spec)].max(initial=0) + size <= capacity:
            alive[during(spec)] += size
            found.append(spec)
    return found


def _end(spec: TensorSpec) -> int:
    return spec.lifetime[1] or 0
