# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random nests of cond, map, while_loop and scan, as data that a module interprets while it is exported.

A block is a list of steps over an environment of matrices (rows by `WIDTH`); a step appends matrices to it. Blocks in
branches and bodies see the matrices outside of them, as operands or captured, and return one or two of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

WIDTH = 3
_DEEPEST = 2


@dataclass(frozen=True)
class Step:
    """A step of a random program.

    kind: "pure", "cond", "map", "while" or "scan". picks: numbers that choose operands. blocks: inner blocks.
    """

    kind: str
    picks: tuple[int, ...]
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Block:
    """A graph of a random program.

    steps: in order. results: numbers that select the returned values.
    """

    steps: tuple[Step, ...]
    results: tuple[int, ...]


_PURE: list[Any] = [
    lambda a, b: a.sin() + b,
    lambda a, b: (a * b).tanh(),
    lambda a, b: (a - b).relu() * 0.5,
    lambda a, b: a.cos() * b.mean(),
    lambda a, b: torch.where(a > b, a, b * 0.5),
    lambda a, b: torch.softmax(a + b, -1),
    lambda a, b: torch.cat([a[..., 1:], b[..., :1]], -1),
    lambda a, b: a.clone(),
]
_NUMBER = st.integers(0, 15)
_KINDS = ("pure", "pure", "cond", "cond", "map", "while", "scan")


@st.composite
def _steps(draw: Any, depth: int) -> Step:
    kind = draw(st.sampled_from(_KINDS if depth < _DEEPEST else _KINDS[:1]))
    picks = tuple(draw(st.lists(_NUMBER, min_size=4, max_size=4)))
    count, results = {"pure": (0, 0), "cond": (2, draw(st.integers(1, 2)))}.get(kind, (1, 1))
    return Step(kind, picks, tuple(draw(blocks(depth + 1, results)) for _ in range(count)))


@st.composite
def blocks(draw: Any, depth: int = 0, results: int | None = None) -> Block:
    """A block with `results` results (one to three if not given)."""
    steps = draw(st.lists(_steps(depth), min_size=1, max_size=3 if depth == 0 else 2))
    wanted = results or draw(st.integers(1, 3))
    return Block(tuple(steps), tuple(draw(st.lists(_NUMBER, min_size=wanted, max_size=wanted))))


class Nest(torch.nn.Module):
    """Runs a block on two matrices of equal sizes and a weight that branches and bodies capture."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, WIDTH))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return _run(self.block, [x, y], self.weight, [])


def _run(block: Block, seen: list[torch.Tensor], weight: torch.Tensor, captured: list[torch.Tensor]) -> Any:
    """The results of a block: `seen` are its operands, `captured` those of the blocks around it."""
    environment = list(seen)
    for step in block.steps:
        environment += _results(step, environment, weight, captured)
    return tuple(environment[number % len(environment)] for number in reversed(block.results))


def _pick(environment: list[torch.Tensor], number: int) -> torch.Tensor:
    return environment[-1 - number % len(environment)]


def _results(
    step: Step, environment: list[torch.Tensor], weight: torch.Tensor, captured: list[torch.Tensor]
) -> list[torch.Tensor]:
    a, b = (_pick(environment, number) for number in step.picks[:2])
    b = b + 0.0 if b is a and step.kind != "cond" else b  # torch.export refuses to give a loop a tensor twice
    if step.kind == "pure":
        return [_PURE[step.picks[2] % len(_PURE)](a, b) * weight]
    return _CONTROL[step.kind](step, a, b, weight, [*captured, environment[0] + 0.0])


def _closed(block: Block, weight: torch.Tensor, captured: list[torch.Tensor]) -> Any:
    """The block as a function of its operands, whose results never alias them (which branches and bodies may not)."""
    outer = captured[-1]

    def function(*operands: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = _run(block, list(operands), weight, captured)
        return tuple(result * weight.sum() + outer.mean() for result in results)

    return function


def _cond(step: Step, a: Any, b: Any, weight: Any, captured: list[Any]) -> list[torch.Tensor]:
    yes, no = (_closed(block, weight, captured) for block in step.blocks)
    return list(torch.cond(a.sum() > b.mean(), yes, no, (a, b)))


def _while(step: Step, a: Any, b: Any, weight: Any, captured: list[Any]) -> list[torch.Tensor]:
    function, iterations = _closed(step.blocks[0], weight, captured), step.picks[2] % 4

    def body(count: torch.Tensor, carried: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return count + 1, *function(carried, other), carried + 0.0

    return list(while_loop(lambda count, *_: count < iterations, body, (torch.tensor(0), a, b))[1:])


def _map(step: Step, a: Any, b: Any, weight: Any, captured: list[Any]) -> list[torch.Tensor]:
    if a.dim() < 2:
        return list(_closed(step.blocks[0], weight, captured)(a, b))

    def body(row: torch.Tensor, other: torch.Tensor, weight: torch.Tensor, outer: torch.Tensor) -> torch.Tensor:
        return _closed(step.blocks[0], weight, [outer])(row, other.mean(0))[0]

    return [torch_map(body, a, b, weight, captured[-1])]  # it captures nothing: what it reads is handed over


def _scan(step: Step, a: Any, b: Any, weight: Any, captured: list[Any]) -> list[torch.Tensor]:
    function = _closed(step.blocks[0], weight, captured)
    if a.dim() < 2:
        return list(function(a, b))

    def body(carried: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return function(carried, row)[0], carried * row

    last, rows = scan(body, b.mean(0), a)
    return [rows, rows + last]


_CONTROL: dict[str, Any] = {"cond": _cond, "while": _while, "map": _map, "scan": _scan}
