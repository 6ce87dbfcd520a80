# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One table of small modules of each kind that the compiler must support, with the calls to try."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .function_module import Function


class Kind(NamedTuple):
    """A module and the calls that test it.

    module: exported with the first of `calls`. sizes: `dynamic_shapes` of its arguments.
    """

    module: nn.Module
    calls: list[tuple[Any, ...]]
    sizes: Any = None


def kind_of(function: Callable[..., Any], *calls: tuple[Any, ...], sizes: Any = None) -> Kind:
    """Return a function as a module, with the inputs of each call."""
    return Kind(Function(function), list(calls), (sizes,) if sizes else None)


def _r(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


class Accumulator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.ones(3))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> Any:
        self.total.mul_(0.5).add_(x)
        self.calls.add_(1)
        return self.total + 0, self.calls * 1


class RollingCache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, row: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.rows.index_copy_(0, position, row)
        return self.rows.cumsum(0)


class Gru(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.register_buffer("hidden", torch.zeros(1, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.hidden.copy_(self.cell(x, self.hidden))
        return self.hidden * 1


class Conditional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.yes, self.no = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: self.yes(x).relu(), lambda x: self.no(x), (x,)) + x


def _twice(x: torch.Tensor) -> torch.Tensor:
    first = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
    return torch.cond(first.sum() > 1, lambda a, b: a * b, lambda a, b: a - b, (first, x)) + first


def _loop(x: torch.Tensor, count: torch.Tensor) -> Any:
    return while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a * 0.5 + 1), (torch.tensor(0), x))


def _positive(x: torch.Tensor) -> torch.Tensor:
    found = x[x > 0]
    torch._check(found.shape[0] <= 12)
    return found * 2


N, M = Dim("n", min=2, max=8), Dim("m", min=2, max=6)
CONTROL: dict[str, Kind] = {
    "branches with weights": Kind(Conditional(), [(_r(2, 3),), (-_r(2, 3).abs(),), (_r(2, 3).abs(),)]),
    "two branches": kind_of(_twice, (_r(3),), (-_r(3).abs(),), (_r(3).abs() + 1,)),
    "a loop to a bound": kind_of(_loop, (_r(3), torch.tensor(4)), (_r(3), torch.tensor(0))),
    "map of a structure": kind_of(
        lambda x, y: torch_map(lambda row, y: {"a": row + y, "b": (row * y).sum()}, x, y), (_r(4, 3), _r(3))
    ),
    "scan": kind_of(lambda x: scan(lambda c, v: (c * 0.5 + v, c - v), torch.zeros(3), x), (_r(5, 3),), (_r(5, 3) + 1,)),
    "scan in reverse": kind_of(lambda x: scan(lambda c, v: (c + v, c * v), x[0], x, reverse=True), (_r(5, 3),)),
}
SIZES: dict[str, Kind] = {
    "one dimension": kind_of(lambda x: x.softmax(0), (_r(3, 2),), (_r(8, 2),), (_r(2, 2),), sizes=({0: N},)),
    "two that are free": kind_of(lambda x: x.T @ x, (_r(3, 4),), (_r(8, 6),), (_r(2, 2),), sizes=({0: N, 1: M},)),
    "shared": kind_of(lambda a, b: a * b, (_r(3), _r(3)), (_r(7), _r(7)), sizes=({0: N}, {0: N})),
    "derived": kind_of(lambda x: x.view(-1, 2).sum(1), (_r(6),), (_r(12),), sizes=({0: 2 * Dim("h", min=2, max=8)},)),
    "joined": kind_of(lambda a, b: torch.cat([a, b]), (_r(3), _r(4)), (_r(2), _r(6)), sizes=({0: N}, {0: M})),
    "repeated": kind_of(
        lambda x: x[:, None].expand(-1, 3, -1).reshape(x.shape[0] * 3, -1), (_r(3, 2),), (_r(5, 2),), sizes=({0: N},)
    ),
    "made": kind_of(lambda x: torch.arange(x.shape[0]) * 2 + x, (_r(3),), (_r(6),), sizes=({0: N},)),
    "returned": kind_of(lambda x: (x.shape[0] * 2, x + x.shape[0]), (_r(3),), (_r(6),), sizes=({0: N},)),
    "convolved": kind_of(
        lambda x: torch.nn.functional.max_pool2d(x, 2),
        (_r(1, 2, 6, 4),),
        (_r(1, 2, 8, 4),),
        sizes=({2: Dim("k", min=4, max=9)},),
    ),
    "of the data": kind_of(_positive, (_r(3, 4),), (-_r(3, 4),), (_r(3, 4).abs(),)),
    "nonzero": kind_of(lambda x: torch.nonzero(x > 0) + 1, (_r(3, 4),), (_r(3, 4).abs() + 1,)),
}
STATE: dict[str, Kind] = {
    "an accumulator": Kind(Accumulator(), [(_r(3),), (_r(3) + 1,), (_r(3),)]),
    "a cache": Kind(RollingCache(), [(_r(1, 3), torch.tensor([i])) for i in (0, 2, 3, 2)]),
    "a recurrent cell": Kind(Gru(), [(_r(1, 3),), (_r(1, 3) * 2,), (-_r(1, 3),)]),
}
STRUCTURE: dict[str, Kind] = {
    "nested": kind_of(
        lambda p: {"s": p["a"] + p["b"][0], "l": [p["b"][1] * 2, p["a"]]}, ({"a": _r(2), "b": [_r(2), _r(3)]},)
    ),
    "a number": kind_of(lambda x, n: x * n, (_r(3), 2.5)),
    "nothing": kind_of(lambda x, y: (x + 1, None) if y is None else (x + y, None), (_r(3), None)),
    "an input as it is": kind_of(lambda x, y: (x, y + 1, x), (_r(3), _r(3))),
    "a constant": kind_of(lambda x: (torch.arange(4), x + 1), (_r(3),)),
    "one value twice": kind_of(lambda x: (lambda y: (y, y, y.view(-1)))(x + 1), (_r(2, 3),)),
    "an input written to": kind_of(lambda x: x.add_(1) * 2, (_r(3),)),
}
KINDS = {**CONTROL, **SIZES, **STATE, **STRUCTURE}
