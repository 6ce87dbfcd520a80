# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From tensors to blocks and back: an algorithm that packs blocks becomes one that plans tensors, arena by arena."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.result import MemoryAlgoResult, SpecAllocResult
from executorch.exir.memory.solve.packing import Block, Packing, lower_bound
from executorch.exir.tensor import TensorSpec

Packer = Callable[[Sequence[Block]], Packing]
InPlace = Mapping[TensorSpec, TensorSpec]


def by_arena(specs: Collection[TensorSpec]) -> dict[int, list[TensorSpec]]:
    """The specs by arena: the one that was asked for by setting spec.mem_id, else arena 1."""
    found: dict[int, list[TensorSpec]] = {}
    for spec in specs:
        found.setdefault(1 if spec.mem_id is None else spec.mem_id, []).append(spec)
    return dict(sorted(found.items()))


def unit(alignment: int, specs: Iterable[TensorSpec]) -> int:
    """The bytes whose multiples the offsets in one arena are: also those of the largest elements in it, which a smaller
    alignment would put where they cannot be read.
    """
    return math.lcm(alignment, *(spec.dtype.itemsize for spec in specs))


def plan_arenas(
    packer: Packer, alignment: int, specs: Collection[TensorSpec], extra_padding: int, in_place: InPlace | None = None
) -> MemoryAlgoResult:
    """Packs every arena on its own; `specs` have their lifetimes set. Sizes and padding in bytes.

    in_place: result → operand that it may overwrite: the two get one place where that makes the arena smaller.
    """
    result = MemoryAlgoResult({}, [0, 0], [0, 0])
    for mem_id, members in by_arena(specs).items():
        grow = mem_id + 1 - len(result.bufsizes)
        result.bufsizes += [0] * grow
        result.lower_bounds += [0] * grow
        offsets, height, bound = _plan(packer, alignment, members, in_place or {})
        object_ids: dict[int, int] = {}
        for spec, offset in zip(members, offsets, strict=True):
            object_id = object_ids.setdefault(offset, len(object_ids))
            result.spec_dict[spec] = SpecAllocResult(mem_id, object_id, offset)
        result.bufsizes[mem_id] = height + extra_padding
        result.lower_bounds[mem_id] = bound + extra_padding
    return result


def _plan(packer: Packer, alignment: int, members: list[TensorSpec], in_place: InPlace) -> tuple[list[int], int, int]:
    """Offsets, the arena's height, and what no plan can stay below."""
    step = unit(alignment, members)
    single = [_block(spec, step) for spec in members]
    groups = _groups(members, in_place)
    if len(groups) == len(members):
        packing = packer(single)
        return packing.offsets, packing.height, packing.lower_bound
    merged = [_merged([single[i] for i in group]) for group in groups]
    # At every step the tensors alive are those of the groups alive: no plan, however many it merges, is below this.
    bound = lower_bound(merged)
    packing = packer(merged)
    offsets = [0] * len(members)
    for group, offset in zip(groups, packing.offsets, strict=True):
        for index in group:
            offsets[index] = offset
    if packing.height > bound:
        apart = packer(single)  # long blocks can be in each other's way
        if apart.height < packing.height:
            return apart.offsets, apart.height, bound
    return offsets, packing.height, bound


def _groups(members: list[TensorSpec], in_place: InPlace) -> list[list[int]]:
    """Indices of tensors that may have one place: an operand, the result over it, the next one over that …"""
    indices = {spec: i for i, spec in enumerate(members)}
    group_of: dict[TensorSpec, list[int]] = {}
    groups: list[list[int]] = []
    for spec in sorted(members, key=lambda each: each.lifetime[0] or 0):
        operand = in_place.get(spec)
        if operand is not None and operand in group_of:
            group = group_of[operand]
        else:
            group = []
            groups.append(group)
        group.append(indices[spec])
        group_of[spec] = group
    return groups


def _merged(blocks: list[Block]) -> Block:
    return Block(blocks[0].size, min(block.first for block in blocks), max(block.last for block in blocks))


def _block(spec: TensorSpec, alignment: int) -> Block:
    first, last = spec.lifetime
    if first is None or last is None:
        raise MemoryPlanningError(spec.debug(), "the tensor has no lifetime")
    return Block(spec.realign(alignment), first, last)
