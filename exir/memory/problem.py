# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The vocabulary of memory planning: a `Problem` has `Buffer`s with `Lifespan`s; a `Solution` gives each an `Offset`.

offset
     6      +-----------+-------+           buffer  size  lifespan   offset in this solution
            |     B     |       |           A          4  0 to 1     0
     4  +---+---+-------+   D   |           B          2  1 to 3     4
        |       |       |       |           C          2  2 to 4     0
     2  |   A   +-------+---+---+           D          4  4 to 5     2
        |       |     C     |
     0  +-------+-----------+
  step    0   1   2   3   4   5

Buffers that share a step must not share bytes. A and B share step 1, so B stands on A. C may reuse the bytes of A.
The sizes alive at steps 1 and 4 add up to 6, so no solution is lower than 6: this one, of height 6, is optimal.

A result may overwrite an operand that dies in the step that writes the result: `Problem.overwrites`. Example: buffer
E of size 4 with lifespan 5 to 6 is computed from D element by element. `overwrites={4: 3}`, the indices of E and D,
lets E have the offset of D, although both are alive in step 5.

Sizes and offsets are in bytes. This module and `solve` do not depend on tensors; `arenas.py` makes problems of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, TypeAlias

import numpy as np
from numpy.typing import NDArray

Step = NewType("Step", int)
"""Position of an instruction in the method, from 0."""
Offset = NewType("Offset", int)
"""Bytes from the start of an arena."""
ArenaId = NewType("ArenaId", int)
"""Number of an arena, from 1: the `mem_id` of a tensor. The runtime's planned buffer is one less."""
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Lifespan:
    """The steps from `first` to `last`, both included."""

    first: Step
    last: Step

    @property
    def steps(self) -> int:
        """Number of steps, at least 1."""
        return self.last - self.first + 1

    def meets(self, other: Lifespan) -> bool:
        """Return whether both have a step in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Buffer:
    """`size` bytes, a multiple of the alignment that the offsets must have, in use during `lifespan`."""

    size: int
    lifespan: Lifespan

    @classmethod
    def of(cls, size: int, first: int, last: int) -> Buffer:
        """Make a buffer of `size` bytes that lives from step `first` to step `last`, both included."""
        return cls(size, Lifespan(Step(first), Step(last)))


@dataclass(frozen=True)
class Problem:
    """The buffers of one arena. `overwrites`: index of a result → index of the operand whose bytes it may take over."""

    buffers: Sequence[Buffer]
    overwrites: Mapping[int, int] = field(default_factory=dict)

    @property
    def lower_bound(self) -> int:
        """The largest sum of sizes alive at one step; no solution without overwrites is lower."""
        if not self.buffers:
            return 0
        change = np.zeros(max(buffer.lifespan.last for buffer in self.buffers) + 2, dtype=np.int64)
        for buffer in self.buffers:
            change[buffer.lifespan.first] += buffer.size
            change[buffer.lifespan.last + 1] -= buffer.size
        return int(np.cumsum(change).max())


@dataclass(frozen=True)
class Solution:
    """`offsets[i]` is the place of buffer i, `height` the size of the arena; no solution is below `lower_bound`."""

    offsets: Sequence[Offset]
    height: int
    lower_bound: int

    @property
    def is_optimal(self) -> bool:
        """Return whether the bound proves that no solution is lower."""
        return self.height == self.lower_bound


Solver: TypeAlias = Callable[[Problem], Solution]
