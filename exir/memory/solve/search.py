# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The lowest solution that a bounded effort finds, and the bound that it proves."""

from __future__ import annotations

import math

from executorch.exir.memory.problem import Offset, Problem, Solution
from executorch.exir.memory.solve.branch_and_bound import Fit, NoFit, fit_below
from executorch.exir.memory.solve.first_fit import first_fit

# Partial solutions that the exact search may examine in all: about a second for up to _BUFFERS buffers.
EFFORT = 20_000
# Each examination costs more with more buffers, so the effort shrinks in proportion beyond this number. `_lowered`
# stops below four examinations a buffer, which complete no solution.
_BUFFERS = 500


def search(problem: Problem, effort: int = EFFORT) -> Solution:
    """Solve by first fit, then by exact search where first fit is not proven optimal: never higher than `first_fit`.

    No solution is below the `lower_bound` of the result. effort: limit of the exact search, 0 for none.
    """
    buffers = problem.buffers
    best = first_fit(problem)
    if best.is_optimal or not effort:
        return best
    offsets = [Offset(0)] * len(buffers)
    height = bound = 0
    groups = _independent_groups(problem)
    for group in groups:
        part = Problem([buffers[i] for i in group])
        solution = best if len(group) == len(buffers) else first_fit(part)
        if solution.height > best.lower_bound:
            solution = _lowered(part, solution, effort // len(groups))
        height, bound = max(height, solution.height), max(bound, solution.lower_bound)
        for index, offset in zip(group, solution.offsets, strict=True):
            offsets[index] = offset
    return Solution(offsets, height, bound)


def _independent_groups(problem: Problem) -> list[list[int]]:
    """Return indices of the buffers in groups that share no step. Empty buffers are left out."""
    buffers = problem.buffers
    groups: list[list[int]] = []
    reached = -1
    filled = [i for i, buffer in enumerate(buffers) if buffer.size]
    for index in sorted(filled, key=lambda i: buffers[i].lifespan.first):
        if buffers[index].lifespan.first > reached:
            groups.append([])
        groups[-1].append(index)
        reached = max(reached, buffers[index].lifespan.last)
    return [sorted(group) for group in groups]


def _lowered(problem: Problem, best: Solution, effort: int) -> Solution:
    """Search for a lower solution until it is optimal or the effort is used up, halving the open range each time."""
    buffers = problem.buffers
    # Every offset is a sum of sizes.
    unit = math.gcd(*(buffer.size for buffer in buffers))
    proven = lowest = best.lower_bound
    effort = effort * _BUFFERS // max(_BUFFERS, len(buffers))
    while lowest < best.height and effort > 4 * len(buffers):
        # Try the bound first: most networks reach it.
        limit = lowest if lowest == best.lower_bound else lowest + (best.height - lowest) // unit // 2 * unit
        answer = fit_below(problem, limit, effort // 2)
        effort -= effort // 2 + 1
        if isinstance(answer, Fit):
            height = max(offset + buffer.size for offset, buffer in zip(answer.offsets, buffers, strict=True))
            best = Solution(answer.offsets, height, best.lower_bound)
        else:
            lowest = limit + unit
            if answer is NoFit.PROVEN:
                proven = lowest
    return Solution(best.offsets, best.height, proven)
