# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The adapter between tensors and problems: one `Problem` for each arena, and its `Solution` as places of tensors."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.problem import ArenaId, Buffer, Lifespan, Problem, Solver, Step
from executorch.exir.memory.result import MemoryAlgoResult, SpecAllocResult
from executorch.exir.tensor import TensorSpec

InPlace: TypeAlias = Mapping[TensorSpec, TensorSpec]
"""Result → the operand whose bytes it may take over."""


def by_arena(specs: Collection[TensorSpec]) -> dict[ArenaId, list[TensorSpec]]:
    """Return the specs by arena: the one that spec.mem_id requests, else arena 1."""
    members: dict[ArenaId, list[TensorSpec]] = {}
    for spec in specs:
        members.setdefault(ArenaId(1 if spec.mem_id is None else spec.mem_id), []).append(spec)
    return dict(sorted(members.items()))


def offset_unit(alignment: int, specs: Iterable[TensorSpec]) -> int:
    """Return the alignment of all offsets in one arena, in bytes.

    It is `alignment`, or more where the largest elements of the arena need it.
    """
    return math.lcm(alignment, *(spec.dtype.itemsize for spec in specs))


def lifespan_of(spec: TensorSpec) -> Lifespan:
    """Return the steps in which a tensor holds its value. Raises MemoryPlanningError if they are not set."""
    first, last = spec.lifetime
    if first is None or last is None:
        raise MemoryPlanningError(spec.debug(), "the tensor has no lifetime")
    return Lifespan(Step(first), Step(last))


def problem_of(members: Sequence[TensorSpec], alignment: int, in_place: InPlace | None = None) -> Problem:
    """Return the problem of one arena; buffer i is `members[i]`. Sets the specs' alignment."""
    unit = offset_unit(alignment, members)
    index_of = {spec: index for index, spec in enumerate(members)}
    overwrites = {
        index_of[result]: index_of[operand]
        for result, operand in (in_place or {}).items()
        if result in index_of and operand in index_of
    }
    return Problem([Buffer(spec.realign(unit), lifespan_of(spec)) for spec in members], overwrites)


def plan_arenas(
    solver: Solver, alignment: int, specs: Collection[TensorSpec], extra_padding: int, in_place: InPlace | None = None
) -> MemoryAlgoResult:
    """Solve every arena on its own. `specs` have their lifetimes set; `extra_padding` bytes follow each arena."""
    result = MemoryAlgoResult({}, [0, 0], [0, 0])
    for mem_id, members in by_arena(specs).items():
        grow = mem_id + 1 - len(result.bufsizes)
        result.bufsizes += [0] * grow
        result.lower_bounds += [0] * grow
        solution = solver(problem_of(members, alignment, in_place))
        object_ids: dict[int, int] = {}
        for spec, offset in zip(members, solution.offsets, strict=True):
            object_id = object_ids.setdefault(offset, len(object_ids))
            result.spec_dict[spec] = SpecAllocResult(mem_id, object_id, offset)
        result.bufsizes[mem_id] = solution.height + extra_padding
        result.lower_bounds[mem_id] = solution.lower_bound + extra_padding
    return result
