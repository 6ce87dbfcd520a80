# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Validation of solutions: simple, quadratic, and sharing nothing with the solvers but the vocabulary of `problem`."""

from collections.abc import Sequence

import numpy as np

from executorch.exir.memory.problem import Offset, Problem


def find_conflict(problem: Problem, offsets: Sequence[Offset]) -> tuple[int, int] | None:
    """Return two buffers that are alive together and share bytes, the larger index first; None if there are none.

    A result may share the bytes of the operand that it overwrites: both have one place and size, and the result's
    lifespan begins in the last step of the operand's.
    """
    buffers = problem.buffers
    starts = np.array(offsets, dtype=np.int64)
    ends = starts + np.array([buffer.size for buffer in buffers], dtype=np.int64)
    firsts = np.array([buffer.lifespan.first for buffer in buffers], dtype=np.int64)
    lasts = np.array([buffer.lifespan.last for buffer in buffers], dtype=np.int64)
    for i in range(len(buffers)):
        if starts[i] == ends[i]:
            continue
        share_bytes = (starts[:i] < ends[i]) & (ends[:i] > starts[i]) & (starts[:i] < ends[:i])
        share_steps = (firsts[:i] <= lasts[i]) & (lasts[:i] >= firsts[i])
        for j in np.flatnonzero(share_bytes & share_steps).tolist():
            if not (_overwrites(problem, offsets, i, j) or _overwrites(problem, offsets, j, i)):
                return i, j
    return None


def _overwrites(problem: Problem, offsets: Sequence[Offset], result: int, operand: int) -> bool:
    over, under = problem.buffers[result], problem.buffers[operand]
    return (
        problem.overwrites.get(result) == operand
        and offsets[result] == offsets[operand]
        and over.size == under.size
        and over.lifespan.first == under.lifespan.last
    )
