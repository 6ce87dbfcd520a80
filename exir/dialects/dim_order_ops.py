# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `dim_order_ops::…`, which take a dim order (dimensions from outermost to innermost), not a memory format.

The file format and the runtime use dim orders instead of strides: [0, 1, 2, 3] is contiguous, [0, 2, 3, 1] is
channels last. Without a dim order, the result has the input's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

library = torch.library.Library("dim_order_ops", "DEF")

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_COPY = "bool non_blocking=False, int[]? dim_order=None"
_SCHEMAS = (
    f"_to_dim_order_copy(Tensor self, *, {_OPTIONS}, {_COPY}) -> Tensor",
    f"_to_dim_order_copy.out(Tensor self, *, {_COPY}, Tensor(a!) out) -> Tensor(a!)",
    f"_empty_dim_order(SymInt[] size, *, {_OPTIONS}, int[]? dim_order=None) -> Tensor",
    "_empty_dim_order.out(SymInt[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
    f"_clone_dim_order(Tensor self, *, {_COPY}) -> Tensor",
    f"_clone_dim_order.out(Tensor self, *, {_COPY}, Tensor(a!) out) -> Tensor(a!)",
)
for _schema in _SCHEMAS:
    library.define(_schema)


def empty_in_dim_order(
    size: list[int] | torch.Size, dim_order: list[int] | None, dtype: torch.dtype | None, device: torch.device | None
) -> torch.Tensor:
    """Return an uninitialized dense tensor. dim_order: None or empty for contiguous.

    Raises ValueError if the dim order is not a permutation of the dimensions.
    """
    order = list(dim_order) if dim_order else list(range(len(size)))
    if sorted(order) != list(range(len(size))):
        raise ValueError(f"dim_order {order} is not a permutation of the {len(size)} dimensions of size {list(size)}")
    inverse = [order.index(dim) for dim in range(len(order))]
    return torch.empty([size[dim] for dim in order], dtype=dtype, device=device).permute(inverse)


def _like(
    self: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    dim_order: list[int] | None = None,
) -> torch.Tensor:
    order = list(self.dim_order()) if dim_order is None else dim_order
    return empty_in_dim_order(self.shape, order, dtype or self.dtype, device or self.device)


def _copied(self: torch.Tensor, **options: Any) -> torch.Tensor:
    return _like(self, **options).copy_(self)


def _write(
    self: torch.Tensor, *, non_blocking: bool = False, dim_order: list[int] | None = None, out: torch.Tensor
) -> torch.Tensor:
    out.resize_(self.shape)
    return out.copy_(self)


def _empty_dim_order(
    size: list[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    dim_order: list[int] | None = None,
) -> torch.Tensor:
    return empty_in_dim_order(size, dim_order, dtype, device)


def _empty_out(size: list[int], *, dim_order: list[int] | None = None, out: torch.Tensor) -> torch.Tensor:
    return out.resize_(size)


def _out(*_: object, out: torch.Tensor, **__: object) -> torch.Tensor:
    return out


# operator → (implementation, fake implementation)
_IMPLEMENTATIONS: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
    "_to_dim_order_copy": (_copied, _like),
    "_to_dim_order_copy.out": (_write, _out),
    "_empty_dim_order": (_empty_dim_order, _empty_dim_order),
    "_empty_dim_order.out": (_empty_out, _out),
    "_clone_dim_order": (_copied, _like),
    "_clone_dim_order.out": (_write, _out),
}
for _name, (_compute, _fake) in _IMPLEMENTATIONS.items():
    library.impl(_name, _compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"dim_order_ops::{_name}", _fake, lib=library)
