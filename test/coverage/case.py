# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A case: one model of one suite, and how to make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from torch.utils import _pytree as pytree

from .rule import SMALL, Rule

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class CannotBuild(Exception):
    """The suite's generic rule makes no small model of this architecture. Not counted: torch.export never saw it."""


@dataclass
class Example:
    """A module in evaluation mode and the arguments of one call.

    batched, lengthened: the arguments of a call with another batch size, or with sequences of another length; None
    where the suite does not vary it.
    reproduction: Python source of a smallest program that shows the case.
    """

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    batched: Callable[[int], Arguments] | None = None
    lengthened: Callable[[int], Arguments] | None = None
    reproduction: str = ""

    @property
    def parameters(self) -> int:
        return sum(one.numel() for one in self.module.parameters())


@dataclass(frozen=True)
class Case:
    """One model of a suite. make: raises `CannotBuild` if the rule cannot make it."""

    suite: str
    name: str
    make: Callable[[], Example]
    rule: Rule = SMALL

    @property
    def key(self) -> str:
        return f"{self.suite}/{self.name}"


class FlatOutputs(nn.Module):
    """A module whose outputs are the tensors and numbers of the wrapped module's outputs, as a flat tuple."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return flat(self.module(*args, **kwargs))


class Positional(nn.Module):
    """A module whose keyword arguments follow the others by place: torch.export gives ``**kwargs`` no dynamic sizes."""

    def __init__(self, module: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *args: Any) -> Any:
        first = len(args) - len(self.names)
        return self.module(*args[:first], **dict(zip(self.names, args[first:], strict=True)))


def flat(value: Any) -> tuple[Any, ...]:
    """The tensors and numbers of a value, in order. A `ModelOutput` counts by its fields."""
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    leaves: list[Any] = []
    for one in pytree.tree_leaves(value, is_leaf=lambda item: hasattr(item, "to_tuple")):
        if hasattr(one, "to_tuple"):
            leaves += flat(one)
        elif one is not None and not isinstance(one, (str, bytes)):
            leaves.append(one)
    return tuple(leaves)
