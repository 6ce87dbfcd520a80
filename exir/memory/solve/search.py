# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The lowest packing that can be found with a bounded effort, and what is proven of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from executorch.exir.memory.solve.branch_and_bound import Answer, fits_below
from executorch.exir.memory.solve.packing import Block, Packing, pack

# Partial packings that the exact search may look at in all: about a second, if they are of up to _BLOCKS blocks.
EFFORT = 20_000
# More blocks make each look cost more; where not even one packing could be finished, there is no search.
_BLOCKS = 500


def search(blocks: Sequence[Block], effort: int = EFFORT) -> Packing:
    """As `pack`, then exactly where that is not proven optimal: never higher than `pack`.

    `lower_bound` of the result is what was proven: no packing is below it. effort: of the exact search; 0: none.
    """
    best = pack(blocks)
    if best.is_optimal or not effort:
        return best
    offsets = [0] * len(blocks)
    height = bound = 0
    groups = _groups(blocks)
    for group in groups:
        members = [blocks[i] for i in group]
        packing = best if len(group) == len(blocks) else pack(members)
        if packing.height > best.lower_bound:
            packing = _lowered(members, packing, effort // len(groups))
        height, bound = max(height, packing.height), max(bound, packing.lower_bound)
        for index, offset in zip(group, packing.offsets, strict=True):
            offsets[index] = offset
    return Packing(offsets, height, bound)


def _groups(blocks: Sequence[Block]) -> list[list[int]]:
    """Indices of the blocks in groups that share no step: each is a problem of its own. Empty blocks are left out."""
    groups: list[list[int]] = []
    reached = -1
    filled = [i for i, block in enumerate(blocks) if block.size]
    for index in sorted(filled, key=lambda i: blocks[i].first):
        if blocks[index].first > reached:
            groups.append([])
        groups[-1].append(index)
        reached = max(reached, blocks[index].last)
    return [sorted(group) for group in groups]


def _lowered(blocks: Sequence[Block], best: Packing, effort: int) -> Packing:
    """The group's packing, searched for until it is optimal, halving the range that is left at every answer."""
    # Every offset is a sum of sizes.
    unit = math.gcd(*(block.size for block in blocks))
    proven = lowest = best.lower_bound
    effort = effort * _BLOCKS // max(_BLOCKS, len(blocks))
    while lowest < best.height and effort > 4 * len(blocks):
        # The bound itself first: it is met more often than not.
        limit = lowest if lowest == best.lower_bound else lowest + (best.height - lowest) // unit // 2 * unit
        answer, offsets = fits_below(blocks, limit, effort // 2)
        effort -= effort // 2 + 1
        if answer is Answer.YES:
            height = max(offset + block.size for offset, block in zip(offsets, blocks, strict=True))
            best = Packing(offsets, height, best.lower_bound)
        else:
            lowest = limit + unit
            if answer is Answer.NO:
                proven = lowest
    return Packing(best.offsets, best.height, proven)
