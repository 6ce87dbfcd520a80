# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""First fit: place buffers one after the other, each in the lowest gap that is free during its lifespan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from executorch.exir.memory.problem import Buffer, Ints, Problem, Solution

# Orders in which to place buffers; the lowest solution is kept, the earlier one of equal height. Which order gives it
# depends on the network.
_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.size, b.lifespan.first),
    lambda b: (-b.size * b.lifespan.steps, b.lifespan.first),
    lambda b: (-b.lifespan.steps, -b.size),
)
_APART_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    *_ORDERS[:2],
    lambda b: (b.lifespan.first, -b.size),
)
# Limit of the repairs, in buffers placed: it bounds the time for any number of buffers.
_REPAIR_WORK = 12_000
_MAX_REPAIRS = 100


def first_fit(problem: Problem) -> Solution:
    """Place all buffers in several orders, then repair the best solution until it meets the lower bound."""
    bound = problem.lower_bound
    arrays = _Arrays.of(problem.buffers)
    best: Solution | None = None
    best_order: list[int] = []
    for key in _ORDERS:
        order = _sorted(problem.buffers, key)
        solution = _place(arrays, order, bound)
        if best is None or solution.height < best.height:
            best, best_order = solution, order
        if best.height == bound:
            return best
    assert best is not None
    return _repair(arrays, best, best_order)


def first_fit_apart(problem: Problem, apart: NDArray[np.bool_]) -> Solution:
    """Place buffers so that those with `apart[i, j]` share no bytes, whether or not their lifespans meet.

    `apart` includes all pairs whose lifespans meet, so the lower bound of the problem holds here too.
    """
    sizes = _Arrays.of(problem.buffers).size
    best: Solution | None = None
    for key in _APART_ORDERS:
        offsets = np.zeros(len(sizes), dtype=np.int64)
        placed = np.zeros(len(sizes), dtype=np.bool_)
        for index in _sorted(problem.buffers, key):
            around = apart[index] & placed
            offsets[index] = lowest_gap(offsets[around], sizes[around], int(sizes[index]))
            placed[index] = True
        height = int((offsets + sizes).max())
        if best is None or height < best.height:
            best = Solution(offsets.tolist(), height, problem.lower_bound)
    assert best is not None
    return best


def lowest_gap(offsets: Ints, sizes: Ints, wanted: int) -> int:
    """Return the start of the lowest gap of `wanted` bytes between the given ranges, or the end of the last range."""
    if not len(offsets):
        return 0
    by_offset = np.argsort(offsets, kind="stable")
    starts = offsets[by_offset]
    ends = np.maximum.accumulate(starts + sizes[by_offset])
    gap_start = np.concatenate(([0], ends[:-1]))
    fits = np.flatnonzero(starts - gap_start >= wanted)
    return int(gap_start[fits[0]] if len(fits) else ends[-1])


def _sorted(buffers: Sequence[Buffer], key: Callable[[Buffer], tuple[int, ...]]) -> list[int]:
    """Return the indices of the buffers sorted by `key`; buffers with equal keys stay in the order of the problem."""
    return sorted(range(len(buffers)), key=lambda i: (*key(buffers[i]), i))


def _repair(arrays: _Arrays, best: Solution, order: list[int]) -> Solution:
    """Repeat the placement with the buffers above the lower bound first, until it is optimal or the work is used up."""
    current = best
    for _ in range(min(_MAX_REPAIRS, _REPAIR_WORK // max(1, len(order)))):
        ends = np.array(current.offsets) + arrays.size
        top = set(np.flatnonzero(ends > best.lower_bound).tolist())
        moved = [i for i in order if i in top] + [i for i in order if i not in top]
        if moved == order:
            # All buffers above the bound are first already: place the highest one before them.
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
    size: Ints
    first: Ints
    last: Ints

    @classmethod
    def of(cls, buffers: Sequence[Buffer]) -> _Arrays:
        columns = np.array([(b.size, b.lifespan.first, b.lifespan.last) for b in buffers], dtype=np.int64).reshape(
            -1, 3
        )
        return cls(*(np.ascontiguousarray(column) for column in columns.T))


def _place(arrays: _Arrays, order: Sequence[int], bound: int) -> Solution:
    """Place each buffer, in the given order, in the lowest gap between those already placed, else on top of them."""
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
    return Solution(offset.tolist(), height, bound)
