# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The independent check of a plan: whatever made it, tensors alive together must not share bytes.

Deliberately simple and quadratic, and without a line of the planners' code.
"""

from collections.abc import Mapping, Sequence

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.tensor import TensorSpec


def validate_plan(names: Mapping[TensorSpec, str], arena_sizes: Sequence[int], allow_overlap: bool = False) -> None:
    """Checks every planned tensor of `names` (spec → a name for messages) against the arenas and each other.

    allow_overlap: the user takes responsibility for tensors that share bytes; places are still checked.
    Raises MemoryPlanningError naming the tensors, their lifetimes and byte ranges.
    """
    by_arena: dict[int, list[tuple[int, int, int, int, TensorSpec]]] = {}
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
            by_arena.setdefault(mem_id, []).append((start, end, first, last, spec))
    if allow_overlap:
        return
    for mem_id, rows in by_arena.items():
        for i, (start, end, first, last, spec) in enumerate(rows):
            for other_start, other_end, other_first, other_last, other in rows[:i]:
                if start < other_end and other_start < end and first <= other_last and other_first <= last:
                    raise MemoryPlanningError(
                        f"{names[spec]} and {names[other]}",
                        f"both are alive and share bytes of arena {mem_id}: "
                        f"{names[spec]} in steps {first} to {last} has bytes {start} to {end}, "
                        f"{names[other]} in steps {other_first} to {other_last} has bytes {other_start} to {other_end}",
                    )


def _complete(spec: TensorSpec, name: str) -> tuple[int, int, int, int]:
    first, last = spec.lifetime
    if spec.mem_id is None or spec.mem_offset is None:
        raise MemoryPlanningError(name, f"the algorithm gave it no place: {spec.debug()}")
    if first is None or last is None or first > last:
        raise MemoryPlanningError(name, f"lifetime {spec.lifetime} is not a range of steps")
    return spec.mem_id, spec.mem_offset, first, last
