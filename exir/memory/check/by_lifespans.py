# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The check by lifetimes: tensors alive together share no bytes, and every place lies inside its arena.

It trusts the lifetimes; `by_execution.py` is the check that does not. It also applies to the plans of users'
algorithms.
"""

from collections.abc import Mapping, Sequence

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.problem import Buffer, Lifespan, Offset, Problem, Step
from executorch.exir.memory.validate import find_conflict
from executorch.exir.tensor import TensorSpec


def check_by_lifespans(
    names: Mapping[TensorSpec, str],
    arena_sizes: Sequence[int],
    allow_overlap: bool = False,
    in_place: Mapping[TensorSpec, TensorSpec] | None = None,
) -> None:
    """Check every planned tensor of `names` (spec → a name for messages) against the arenas and each other.

    allow_overlap: accept tensors that share bytes while alive; places are still checked. in_place: result → operand
    that may end in the step in which the result begins at its place.
    Raises MemoryPlanningError naming the tensors, their lifetimes and byte ranges.
    """
    arenas: dict[int, list[TensorSpec]] = {}
    for spec, name in names.items():
        arenas.setdefault(_checked_arena(spec, name, arena_sizes), []).append(spec)
    if allow_overlap:
        return
    for mem_id, members in arenas.items():
        index_of = {spec: index for index, spec in enumerate(members)}
        overwrites = {
            index_of[result]: index_of[operand]
            for result, operand in (in_place or {}).items()
            if result in index_of and operand in index_of
        }
        problem = Problem([Buffer(spec.nbytes(), _lifespan(spec, names[spec])) for spec in members], overwrites)
        conflict = find_conflict(problem, [_offset(spec, names[spec]) for spec in members])
        if conflict is not None:
            left, right = (members[index] for index in conflict)
            raise MemoryPlanningError(
                f"{names[left]} and {names[right]}",
                f"both are alive and share bytes of arena {mem_id}: "
                f"{_described(left, names[left])}, {_described(right, names[right])}",
            )


def _checked_arena(spec: TensorSpec, name: str, arena_sizes: Sequence[int]) -> int:
    start = _offset(spec, name)
    _lifespan(spec, name)
    mem_id, end = spec.mem_id or 0, start + spec.nbytes()
    if not 1 <= mem_id < len(arena_sizes):
        raise MemoryPlanningError(name, f"arena {mem_id} does not exist; arenas are 1 to {len(arena_sizes) - 1}")
    if start < 0 or end > arena_sizes[mem_id]:
        raise MemoryPlanningError(
            name, f"bytes {start} to {end} are not inside of arena {mem_id} with {arena_sizes[mem_id]} bytes"
        )
    if start % spec.dtype.itemsize:
        raise MemoryPlanningError(name, f"offset {start} is not a multiple of its {spec.dtype.itemsize}-byte elements")
    return mem_id


def _offset(spec: TensorSpec, name: str) -> Offset:
    if spec.mem_id is None or spec.mem_offset is None:
        raise MemoryPlanningError(name, f"the algorithm assigned no place: {spec.debug()}")
    return Offset(spec.mem_offset)


def _lifespan(spec: TensorSpec, name: str) -> Lifespan:
    first, last = spec.lifetime
    if first is None or last is None or first > last:
        raise MemoryPlanningError(name, f"lifetime {spec.lifetime} is not a range of steps")
    return Lifespan(Step(first), Step(last))


def _described(spec: TensorSpec, name: str) -> str:
    lifespan, start = _lifespan(spec, name), _offset(spec, name)
    return f"{name} in steps {lifespan.first} to {lifespan.last} has bytes {start} to {start + spec.nbytes()}"
