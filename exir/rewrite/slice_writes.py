# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes of an operator to parts of tensors.

own(x[1:], y)      →      part = slice_copy(x, 0, 1, n);  own(part, y);  x = slice_scatter(x, part, 0, 1, n)

Parts that are not slices use strides (`as_strided_copy`, `as_strided_scatter`). The descriptions of parts are keyword
arguments of `auto_functionalized_v2`, with a prefix for each tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx.node import Argument

from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.rewrite.node_rewrite import insert_before, with_values

_aten = exir_ops.edge.aten
# Suffixes of the keyword arguments, the operator that copies such a part, and the one that puts it back.
_FORMS: tuple[tuple[tuple[str, ...], EdgeOpOverload, EdgeOpOverload], ...] = (
    (("_slice_dim", "_slice_start", "_slice_end"), _aten.slice_copy.Tensor, _aten.slice_scatter.default),
    (("_size", "_stride", "_storage_offset"), _aten.as_strided_copy.default, _aten.as_strided_scatter.default),
)


@dataclass(frozen=True)
class Part:
    """copy(base, *arguments) reads a part; put(base, part, *arguments) returns the base with the part replaced."""

    copy: EdgeOpOverload
    put: EdgeOpOverload
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Place:
    """A written tensor, or a part of it.

    base: index of the written tensor. part: the written part, None for the whole tensor.
    """

    base: int
    part: Part | None


def place_of(call: fx.Node, prefix: str) -> Place | None:
    """Return the place that an `auto_functionalized_v2` call writes for a prefix, None for an absent tensor."""
    base: Any = call.kwargs.get(f"{prefix}_base_index")
    if base is None:
        return None
    for suffixes, copy, put in _FORMS:
        names = [prefix + suffix for suffix in suffixes]
        if names[0] in call.kwargs:
            return Place(base, Part(copy, put, tuple(call.kwargs[name] for name in names)))
    return Place(base, None)


def copy_part(call: fx.Node, base: fx.Node, place: Place) -> fx.Node:
    """Insert a copy of the part before `call`. For a whole tensor, return the base."""
    return base if place.part is None else _called(call, place.part.copy, (base, *place.part.arguments))


def put_part(call: fx.Node, base: fx.Node, part: fx.Node, place: Place) -> fx.Node:
    """Insert the base with the part replaced before `call`. For a whole tensor, return the base."""
    return base if place.part is None else _called(call, place.part.put, (base, part, *place.part.arguments))


def _called(call: fx.Node, target: EdgeOpOverload, args: tuple[Argument, ...]) -> fx.Node:
    return insert_before(call, target, args, {}, target._op(*with_values(args)), call)


def check_disjoint(call: fx.Node, bases: Sequence[fx.Node], places: Mapping[str, Place]) -> None:
    """Raise `ExportError` unless the parts of each tensor that `call` writes are provably disjoint.

    Each part is written in a separate copy, so overlapping writes would be lost.
    """
    for i, base in enumerate(bases):
        parts = {key: place for key, place in places.items() if place.base == i}
        if len(parts) < 2 or all(place.part is None for place in parts.values()):
            continue
        if not _known_disjoint(base.meta["val"], [place.part for place in parts.values()]):
            names = ", ".join(repr(key.removeprefix("_")) for key in parts)
            why = f"{call.args[0]} writes to {names}, which may be parts of one tensor with elements in common"
            raise ExportError("mutable calls", call, f"{why}: not supported; write to one at a time")


def _known_disjoint(base: torch.Tensor, parts: Sequence[Part | None]) -> bool:
    if not all(isinstance(number, int) for part in parts if part is not None for number in _flat(part.arguments)):
        return False
    if not all(isinstance(size, int) for size in base.shape) or None in parts:
        return False
    elements = torch.arange(base.numel()).as_strided(base.shape, base.stride())
    taken = [part.copy._op(elements, *part.arguments).reshape(-1) for part in parts if part is not None]
    return int(torch.bincount(torch.cat(taken)).max()) < 2


def _flat(arguments: Sequence[object]) -> list[object]:
    return [item for value in arguments for item in (value if isinstance(value, (list, tuple)) else [value])]
