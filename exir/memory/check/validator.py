# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The independent check of a plan: whatever made it, tensors alive together must not share bytes.

Deliberately simple and quadratic, and without a line of the planners' code.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.tensor import TensorSpec


def validate_plan(
    names: Mapping[TensorSpec, str],
    arena_sizes: Sequence[int],
    allow_overlap: bool = False,
    in_place: Mapping[TensorSpec, TensorSpec] | None = None,
) -> None:
    """Checks every planned tensor of `names` (spec → a name for messages) against the arenas and each other.

    allow_overlap: the user takes responsibility for tensors that share bytes; places are still checked. in_place:
    result → operand that may end in the step in which the result begins at its place.
    Raises MemoryPlanningError naming the tensors, their lifetimes and byte ranges.
    """
    rows: dict[int, list[tuple[int, int, int, int, TensorSpec]]] = {}
    for spec, name in names.items():
        mem_id, start, first, last = _complete(spec, name)
        end = start + spec.nbytes()
        if not 1 <= mem_id < len(arena_sizes):
            raise MemoryPlanningError(name, f"arena {mem_id} does not exist; arenas are 1 to {len(arena_sizes) - 1}")
        if start < 0 or end > arena_sizes[mem_id]:
            raise MemoryPlanningError(
                name, f"bytes {start} to {end} are not inside of arena {mem_id} with {arena_sizes[mem_id]} bytes"
            )
        if start % spec.dtype.itemsize:
            raise MemoryPlanningError(name, f"offset {start} is no multiple of its {spec.dtype.itemsize}-byte elements")
        if end > start:
            rows.setdefault(mem_id, []).append((start, end, first, last, spec))
    if allow_overlap:
        return
    for mem_id, members in rows.items():
        starts, ends, firsts, lasts = (np.array(column) for column in list(zip(*members, strict=True))[:4])
        for i, (start, end, first, last, spec) in enumerate(members):
            together = (starts[:i] < end) & (ends[:i] > start) & (firsts[:i] <= last) & (lasts[:i] >= first)
            for j in np.flatnonzero(together).tolist():
                other_start, other_end, other_first, other_last, other = members[j]
                if _takes_over(spec, other, in_place or {}) or _takes_over(other, spec, in_place or {}):
                    continue
                raise MemoryPlanningError(
                    f"{names[spec]} and {names[other]}",
                    f"both are alive and share bytes of arena {mem_id}: "
                    f"{names[spec]} in steps {first} to {last} has bytes {start} to {end}, "
                    f"{names[other]} in steps {other_first} to {other_last} has bytes {other_start} to {other_end}",
                )


def _takes_over(result: TensorSpec, operand: TensorSpec, in_place: Mapping[TensorSpec, TensorSpec]) -> bool:
    return (
        in_place.get(result) is operand
        and result.mem_offset == operand.mem_offset
        and result.nbytes() == operand.nbytes()
        and result.lifetime[0] == operand.lifetime[1]
    )


def _complete(spec: TensorSpec, name: str) -> tuple[int, int, int, int]:
    first, last = spec.lifetime
    if spec.mem_id is None or spec.mem_offset is None:
        raise MemoryPlanningError(name, f"the algorithm gave it no place: {spec.debug()}")
    if first is None or last is None or first > last:
        raise MemoryPlanningError(name, f"lifetime {spec.lifetime} is not a range of steps")
    return spec.mem_id, spec.mem_offset, first, last
