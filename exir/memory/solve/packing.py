# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Packing of blocks with lifetimes into one arena: the search, knowing nothing of tensors.

offset
  ^  +-----C-----+            A, B and C have sizes and lifetimes [first, last]; blocks that share a step must not
  |  +--A--++-B--+            share bytes. The arena's height can not be below the largest sum of sizes at any
  +------------------> step   step; `pack` reports this bound with its result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """`size` in bytes, a multiple of the wanted alignment; alive from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Packing:
    """offsets[i] is block i's place in bytes; `height` the arena's size; no packing is below `lower_bound`."""

    offsets: list[int]
    height: int
    lower_bound: int

    @property
    def is_optimal(self) -> bool:
        """Whether no packing can be lower, proven by the bound."""
        return self.height == self.lower_bound


def lower_bound(blocks: Sequence[Block]) -> int:
    """The largest sum of sizes that are alive at one step."""
    if not blocks:
        return 0
    change = np.zeros(max(block.last for block in blocks) + 2, dtype=np.int64)
    for block in blocks:
        change[block.first] += block.size
        change[block.last + 1] -= block.size
    return int(np.cumsum(change).max())


# In which order to place blocks; the best result of all is taken. Which one wins depends on the network.
_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda b: (-b.size, b.first),
    lambda b: (-b.size * (b.last - b.first + 1), b.first),
    lambda b: (b.first - b.last, -b.size),
)
# Work of the search after that, in blocks placed: bounds the time whatever the number of blocks.
_REPAIR_WORK = 12_000
_MOST_REPAIRS = 100


def pack(blocks: Sequence[Block]) -> Packing:
    """Places all blocks: several orders, then repairs of the best one, until the lower bound is met."""
    bound = lower_bound(blocks)
    arrays = _Arrays.of(blocks)
    best: Packing | None = None
    best_order: list[int] = []
    for key in _ORDERS:
        order = sorted(range(len(blocks)), key=lambda i: (*key(blocks[i]), i))
        packing = _place(arrays, order, bound)
        if best is None or packing.height < best.height:
            best, best_order = packing, order
        if best.height == bound:
            return best
    assert best is not None
    return _repair(arrays, best, best_order)


def pack_whole(blocks: Sequence[Block]) -> Packing:
    """Blocks take turns at places of one size each; no block lies across two places."""
    offsets = [0] * len(blocks)
    places: list[tuple[int, list[Block]]] = []
    height = 0
    for index in sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first)):
        block = blocks[index]
        for offset, users in places:
            if all(user.last < block.first or block.last < user.first for user in users):
                users.append(block)
                offsets[index] = offset
                break
        else:
            places.append((height, [block]))
            offsets[index] = height
            height += block.size
    return Packing(offsets, height, lower_bound(blocks))


def _repair(arrays: "_Arrays", best: Packing, order: list[int]) -> Packing:
    """Places what ended up on top earlier and tries again."""
    current = best
    for _ in range(min(_MOST_REPAIRS, _REPAIR_WORK // max(1, len(order)))):
        ends = np.array(current.offsets) + arrays.size
        top = set(np.flatnonzero(ends > best.lower_bound).tolist())
        moved = [i for i in order if i in top] + [i for i in order if i not in top]
        if moved == order:
            # Everything on top already comes first: let the highest one lead.
            highest = int(np.argmax(ends))
            moved = [highest] + [i for i in order if i != highest]
            if moved == order:
                break
        order = moved
        current = _place(arrays, order, best.lower_bound)
        if current.height < best.height:
            best = current
        if best.height == best.lower_bound:
            break
    return best


@dataclass(frozen=True)
class _Arrays:
    size: _Ints
    first: _Ints
    last: _Ints

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "_Arrays":
        columns = np.array([(b.size, b.first, b.last) for b in blocks], dtype=np.int64).reshape(-1, 3)
        return cls(*(np.ascontiguousarray(column) for column in columns.T))


def _place(arrays: _Arrays, order: Sequence[int], bound: int) -> Packing:
    """Each block in the given order in the lowest gap between what is placed already, else on top."""
    count = len(order)
    offset = np.full(count, -1, dtype=np.int64)
    ordered = _Arrays(arrays.size[list(order)], arrays.first[list(order)], arrays.last[list(order)])
    placed = np.empty(count, dtype=np.int64)
    height = 0
    for n, index in enumerate(order):
        size = int(ordered.size[n])
        meet = (ordered.first[:n] <= ordered.last[n]) & (ordered.last[:n] >= ordered.first[n])
        placed[n] = lowest_gap(placed[:n][meet], ordered.size[:n][meet], size)
        offset[index] = placed[n]
        height = max(height, int(placed[n]) + size)
    return Packing(offset.tolist(), height, bound)


def lowest_gap(offsets: _Ints, sizes: _Ints, wanted: int) -> int:
    """The start of the lowest gap between the given ranges that holds `wanted` bytes; their end if there is none."""
    if not len(offsets):
        return 0
    by_offset = np.argsort(offsets, kind="stable")
    starts = offsets[by_offset]
    ends = np.maximum.accumulate(starts + sizes[by_offset])
    gap_start = np.concatenate(([0], ends[:-1]))
    fits = np.flatnonzero(starts - gap_start >= wanted)
    return int(gap_start[fits[0]] if len(fits) else ends[-1])
