# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exact search: is there a packing of blocks below a given height? Answers yes (with one), no (proven), or gives up.

Any packing can be pushed down until each block stands on the floor or on another one; sorted by offset, each block then
stands at the highest of what lies below it. So it is enough to stack the blocks in every order of rising offsets:

offset ^   limit ------------------     A, B, C are stacked, D and E are left. In D's steps the skyline is C's top;
       |    +--C--+ . . . . .           D stands there, nowhere else. If E's bytes above the skyline exceed the limit at
       |  +-+-----+--+--B---+           some step, this order is given up, and with it all that begin like it.
       |  +----A-----+------+
       +--------------------------> step

What cuts the search: the bytes left at a step must fit above its skyline; a block that could stand wholly below
another candidate goes first; blocks of the same offset go in one order only; parts that share no step are solved apart.
(The ideas are those of Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
Learning", ASPLOS 2023.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from executorch.exir.memory.solve.packing import Block

_Ints = NDArray[np.int64]
_FAR = np.iinfo(np.int64).max // 2


class Answer(Enum):
    YES = "there is such a packing"
    NO = "there is none"
    UNKNOWN = "not found out within the effort"


# In which order blocks are tried where several could come next. A different one may find a packing at once.
_PREFERENCES: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda b: (-(b.last - b.first + 1) * b.size,),
    lambda b: (-(b.last - b.first), -b.size),
    lambda b: (-b.size, b.first - b.last),
)


def fits_below(blocks: Sequence[Block], limit: int, effort: int) -> tuple[Answer, list[int]]:
    """Whether the blocks, none of them empty, fit below `limit` bytes, and the offsets if so.

    effort: how many partial packings may be looked at in all. It is counted, not timed: the same blocks give the
    same answer on every machine.
    """
    for preference in _PREFERENCES:
        order = sorted(range(len(blocks)), key=lambda i: (*preference(blocks[i]), i))
        search = _Search([blocks[i] for i in order], limit, effort // len(_PREFERENCES))
        answer = search.run()
        if answer is Answer.NO:
            return answer, []
        if answer is Answer.YES:
            offsets = [0] * len(blocks)
            for place, index in zip(search.offsets.tolist(), order, strict=True):
                offsets[index] = place
            return answer, offsets
    return Answer.UNKNOWN, []


def _crowded_steps(blocks: Sequence[Block]) -> list[int]:
    """Steps enough to see every conflict: those after which a block ends, if one began since the last of them."""
    firsts = sorted(block.first for block in blocks)
    steps: list[int] = []
    begun = 0
    for step in sorted({block.last for block in blocks}):
        before = begun
        while begun < len(firsts) and firsts[begun] <= step:
            begun += 1
        if begun > before:
            steps.append(step)
    return steps


@dataclass(frozen=True)
class _State:
    """A partial packing. place: where each block would stand now; floor: the lowest of these, by step; wanted: bytes
    that are left to be stacked, by step. No further block stands below `least`; at it, none that comes before `rank`.
    """

    place: _Ints
    floor: _Ints
    wanted: _Ints
    least: int
    rank: int


@dataclass(frozen=True)
class _Part:
    """Blocks that are left and share no step with others that are. parent: the depth of the choice that parted them
    (of which the failure of this part is the failure), -1 at the start."""

    blocks: _Ints
    state: _State
    parent: int


@dataclass(frozen=True)
class _Choice:
    """Which block of a part to stack next; `rest`: the parts that are still to be solved once this one is."""

    part: _Part
    candidates: Iterator[int]
    rest: _Parts


# A linked list: choices at different depths share its tail.
_Parts: TypeAlias = "tuple[_Part, _Parts] | None"


class _Search:
    """Blocks are numbered in the order of preference; steps are the crowded ones alone."""

    def __init__(self, blocks: Sequence[Block], limit: int, effort: int) -> None:
        self.limit, self.effort = limit, effort
        self.size: _Ints = np.array([block.size for block in blocks], dtype=np.int64)
        steps = np.array(_crowded_steps(blocks), dtype=np.int64)
        self.begin = np.searchsorted(steps, np.array([block.first for block in blocks]), side="left")
        self.end = np.searchsorted(steps, np.array([block.last for block in blocks]), side="right")
        columns = np.arange(len(steps))
        self.covers = (columns >= self.begin[:, None]) & (columns < self.end[:, None])
        self.offsets: _Ints = np.zeros(len(blocks), dtype=np.int64)

    def run(self) -> Answer:
        nothing = np.zeros(len(self.size), dtype=np.int64)
        start = _State(nothing, np.zeros(self.covers.shape[1], dtype=np.int64), self.size @ self.covers, 0, -1)
        todo = self._apart(np.arange(len(self.size)), start, -1, None)
        choices: list[_Choice] = []
        while todo is not None:
            self.effort -= 1
            if self.effort < 0:
                return Answer.UNKNOWN
            part, rest = todo
            choices.append(_Choice(part, iter(self._candidates(part)), rest))
            while (block := next(choices[-1].candidates, None)) is None:
                del choices[choices[-1].part.parent + 1 :]
                if not choices:
                    return Answer.NO
            todo = self._stack(block, choices)
        return Answer.YES

    def _stack(self, block: int, choices: Sequence[_Choice]) -> _Parts:
        """The parts that are left once `block` stands where it can."""
        part, rest = choices[-1].part, choices[-1].rest
        state = part.state
        place = int(state.place[block])
        top = place + int(self.size[block])
        self.offsets[block] = place
        left = part.blocks[part.blocks != block]
        begin, end = self.begin[left], self.end[left]
        raised = left[(begin < self.end[block]) & (end > self.begin[block])]
        places, floor, wanted = state.place.copy(), state.floor.copy(), state.wanted.copy()
        places[left] = np.maximum(places[left], place)
        places[raised] = np.maximum(places[raised], top)
        wanted[self.begin[block] : self.end[block]] -= self.size[block]
        if len(raised):
            low, high = int(self.begin[raised].min()), int(self.end[raised].max())
            near = left[(begin < high) & (end > low)]
            floor[low:high] = np.where(self.covers[near, low:high], places[near][:, None], _FAR).min(axis=0)
        return self._apart(left, _State(places, floor, wanted, place, block), len(choices) - 1, rest)

    def _apart(self, left: _Ints, state: _State, parent: int, rest: _Parts) -> _Parts:
        """Puts the blocks before `rest`, in parts that share no step, small ones first: those fail soonest."""
        by_begin = left[np.argsort(self.begin[left], kind="stable")]
        cuts = np.flatnonzero(self.begin[by_begin][1:] >= np.maximum.accumulate(self.end[by_begin])[:-1]) + 1
        if not len(cuts):
            return (_Part(left, state, parent), rest) if len(left) else rest
        for blocks in sorted(np.split(by_begin, cuts), key=len, reverse=True):
            rest = (_Part(np.sort(blocks), state, parent), rest)
        return rest

    def _candidates(self, part: _Part) -> list[int]:
        """The blocks that may come next, lowest place first; none if not all of the part can be stacked."""
        state, blocks = part.state, part.blocks
        places = state.place[blocks]
        tops = places + self.size[blocks]
        if tops.max() > self.limit:
            return []
        steps = slice(self.begin[blocks].min(), self.end[blocks].max())
        floor = np.maximum(state.floor[steps], state.least)
        wanted = state.wanted[steps]
        if ((floor + wanted > self.limit) & (wanted > 0)).any():
            return []
        possible = np.flatnonzero((places < tops.min()) & ((places > state.least) | (blocks > state.rank)))
        found: list[int] = blocks[possible[np.argsort(places[possible], kind="stable")]].tolist()
        return found
