# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exact search: is there a solution below a given height? The answer is a solution, a proof that none exists, or that
the effort is used up.

Any solution can be pushed down until each buffer stands on the floor or on another one; sorted by offset, each buffer
then stands at the highest of those below it. So it suffices to stack the buffers in every order of rising offsets:

offset ^   limit ------------------     A, B, C are stacked, D and E remain. In D's steps the skyline is C's top:
       |    +--C--+ . . . . .           D can stand only there. If E's bytes above the skyline exceed the limit at
       |  +-+-----+--+--B---+           some step, the search drops this order and all that begin with it.
       |  +----A-----+------+
       +--------------------------> step

Four rules cut the search: the remaining bytes of a step must fit above its skyline; a buffer that could stand wholly
below another candidate goes first; buffers of one offset go in one order only; parts that share no step are solved
separately. (The ideas are those of Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated
Machine Learning", ASPLOS 2023.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from executorch.exir.memory.problem import Buffer, Ints, Offset, Problem

_FAR = np.iinfo(np.int64).max // 2


@dataclass(frozen=True)
class Fit:
    """A solution below the limit."""

    offsets: Sequence[Offset]


class NoFit(Enum):
    """The search ended without a solution below the limit."""

    PROVEN = "no solution is below the limit"
    UNKNOWN = "the effort was used up before an answer"


# Orders in which to try the buffers that could come next. Where one order fails, another may find a solution quickly.
_PREFERENCES: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.lifespan.steps * b.size,),
    lambda b: (-b.lifespan.steps, -b.size),
    lambda b: (-b.size, -b.lifespan.steps),
)


def fit_below(problem: Problem, limit: int, effort: int) -> Fit | NoFit:
    """Look for a solution of at most `limit` bytes. No buffer of the problem is empty.

    effort: partial solutions to examine in all. It is counted, not timed: the same problem gives the same answer on
    every machine.
    """
    buffers = problem.buffers
    for preference in _PREFERENCES:
        order = sorted(range(len(buffers)), key=lambda i: (*preference(buffers[i]), i))
        search = _Search([buffers[i] for i in order], limit, effort // len(_PREFERENCES))
        answer = search.run()
        if answer is NoFit.PROVEN:
            return answer
        if answer is None:
            offsets = [Offset(0)] * len(buffers)
            for place, index in zip(search.offsets.tolist(), order, strict=True):
                offsets[index] = place
            return Fit(offsets)
    return NoFit.UNKNOWN


def _crowded_steps(buffers: Sequence[Buffer]) -> list[int]:
    """Return steps that show every conflict: the last steps of buffers, if one began since the previous such step."""
    firsts = sorted(buffer.lifespan.first for buffer in buffers)
    steps: list[int] = []
    begun = 0
    for step in sorted({buffer.lifespan.last for buffer in buffers}):
        before = begun
        while begun < len(firsts) and firsts[begun] <= step:
            begun += 1
        if begun > before:
            steps.append(step)
    return steps


@dataclass(frozen=True)
class _State:
    """A partial solution. place: the offset that each buffer would get now. floor: the lowest of these, by step.
    wanted: bytes that remain to be stacked, by step. No further buffer stands below `lowest`, and at `lowest` none that
    comes before `rank`.
    """

    place: Ints
    floor: Ints
    wanted: Ints
    lowest: int
    rank: int


@dataclass(frozen=True)
class _Part:
    """Remaining buffers that share no step with the other remaining ones. parent: the depth of the choice that
    separated them, which fails if this part fails; -1 at the start."""

    buffers: Ints
    state: _State
    parent: int


@dataclass(frozen=True)
class _Choice:
    """A part, the buffers that may be stacked next, and the parts to solve after this one."""

    part: _Part
    candidates: Iterator[int]
    rest: _Parts


# A linked list: choices at different depths share its tail.
_Parts: TypeAlias = "tuple[_Part, _Parts] | None"


class _Search:
    """The state of one search. Buffers are numbered in the order of preference; steps are only the crowded ones."""

    def __init__(self, buffers: Sequence[Buffer], limit: int, effort: int) -> None:
        self.limit, self.effort = limit, effort
        self.size: Ints = np.array([buffer.size for buffer in buffers], dtype=np.int64)
        steps = np.array(_crowded_steps(buffers), dtype=np.int64)
        self.begin = np.searchsorted(steps, np.array([buffer.lifespan.first for buffer in buffers]), side="left")
        self.end = np.searchsorted(steps, np.array([buffer.lifespan.last for buffer in buffers]), side="right")
        columns = np.arange(len(steps))
        self.covers = (columns >= self.begin[:, None]) & (columns < self.end[:, None])
        self.offsets: Ints = np.zeros(len(buffers), dtype=np.int64)

    def run(self) -> NoFit | None:
        """Return None once all buffers are stacked, as `offsets` says."""
        nothing = np.zeros(len(self.size), dtype=np.int64)
        start = _State(nothing, np.zeros(self.covers.shape[1], dtype=np.int64), self.size @ self.covers, 0, -1)
        todo = self._apart(np.arange(len(self.size)), start, -1, None)
        choices: list[_Choice] = []
        while todo is not None:
            self.effort -= 1
            if self.effort < 0:
                return NoFit.UNKNOWN
            part, rest = todo
            choices.append(_Choice(part, iter(self._candidates(part)), rest))
            while (buffer := next(choices[-1].candidates, None)) is None:
                del choices[choices[-1].part.parent + 1 :]
                if not choices:
                    return NoFit.PROVEN
            todo = self._stack(buffer, choices)
        return None

    def _stack(self, buffer: int, choices: Sequence[_Choice]) -> _Parts:
        """Stack `buffer` and return the parts that remain."""
        part, rest = choices[-1].part, choices[-1].rest
        state = part.state
        place = int(state.place[buffer])
        top = place + int(self.size[buffer])
        self.offsets[buffer] = place
        left = part.buffers[part.buffers != buffer]
        begin, end = self.begin[left], self.end[left]
        raised = left[(begin < self.end[buffer]) & (end > self.begin[buffer])]
        places, floor, wanted = state.place.copy(), state.floor.copy(), state.wanted.copy()
        places[left] = np.maximum(places[left], place)
        places[raised] = np.maximum(places[raised], top)
        wanted[self.begin[buffer] : self.end[buffer]] -= self.size[buffer]
        if len(raised):
            low, high = int(self.begin[raised].min()), int(self.end[raised].max())
            near = left[(begin < high) & (end > low)]
            floor[low:high] = np.where(self.covers[near, low:high], places[near][:, None], _FAR).min(axis=0)
        return self._apart(left, _State(places, floor, wanted, place, buffer), len(choices) - 1, rest)

    def _apart(self, left: Ints, state: _State, parent: int, rest: _Parts) -> _Parts:
        """Put the buffers before `rest`, in parts that share no step, small ones first: those fail soonest."""
        by_begin = left[np.argsort(self.begin[left], kind="stable")]
        cuts = np.flatnonzero(self.begin[by_begin][1:] >= np.maximum.accumulate(self.end[by_begin])[:-1]) + 1
        if not len(cuts):
            return (_Part(left, state, parent), rest) if len(left) else rest
        for buffers in sorted(np.split(by_begin, cuts), key=len, reverse=True):
            rest = (_Part(np.sort(buffers), state, parent), rest)
        return rest

    def _candidates(self, part: _Part) -> list[int]:
        """Return the buffers that may come next, lowest place first; none if the part cannot be stacked as a whole."""
        state, buffers = part.state, part.buffers
        places = state.place[buffers]
        tops = places + self.size[buffers]
        if tops.max() > self.limit:
            return []
        steps = slice(self.begin[buffers].min(), self.end[buffers].max())
        floor = np.maximum(state.floor[steps], state.lowest)
        wanted = state.wanted[steps]
        if ((floor + wanted > self.limit) & (wanted > 0)).any():
            return []
        possible = np.flatnonzero((places < tops.min()) & ((places > state.lowest) | (buffers > state.rank)))
        ordered: list[int] = buffers[possible[np.argsort(places[possible], kind="stable")]].tolist()
        return ordered
