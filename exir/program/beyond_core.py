# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of operators outside of Core ATen that torch.export leaves whole.

PyTorch has decompositions of many, which its default table to Core ATen does not hold; those that end in operators of
the edge dialect are taken as they are. What it has none for, and models use, is here: sums, sorts and selections.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch._refs.linalg
from torch._decomp import global_decomposition_table
from torch._ops import OpOverload

_aten: Any = torch.ops.aten
Decomposition = Callable[..., Any]


def _addbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    return self * beta + torch.bmm(batch1, batch2).sum(0) * alpha


def _scatter_with(reduce: str) -> str:
    names = {"add": "sum", "multiply": "prod"}
    return names[reduce]


def _scatter_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, *, reduce: str
) -> torch.Tensor:
    return torch.scatter_reduce(self, dim, index, src, _scatter_with(reduce))


def _scatter_value_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, value: float, *, reduce: str
) -> torch.Tensor:
    src = torch.full(index.shape, value, dtype=self.dtype, device=self.device)
    return torch.scatter_reduce(self, dim, index, src, _scatter_with(reduce))


def _kth_smallest(
    self: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = torch.sort(self, dim=dim)
    values, indices = values.select(dim, k - 1), indices.select(dim, k - 1)
    return (values.unsqueeze(dim), indices.unsqueeze(dim)) if keepdim else (values, indices)


def _median(self: torch.Tensor) -> torch.Tensor:
    return _median_of(self.reshape(-1), 0)[0]


def _median_of(self: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower of the two in the middle; a NaN anywhere is the median."""
    values, indices = _kth_smallest(self, (self.shape[dim] + 1) // 2, dim, True)
    if self.dtype.is_floating_point:
        first = torch.isnan(self).to(torch.int64).argmax(dim, keepdim=True)
        found = torch.isnan(self).any(dim, keepdim=True)
        values = torch.where(found, float("nan"), values)
        indices = torch.where(found, first, indices)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    for dim in expand1:
        i1 = i1.unsqueeze(dim)
    for dim in expand2:
        i2 = i2.unsqueeze(dim)
    for dim in expand3:
        i3 = i3.unsqueeze(dim)
    return (i1 * i2 * i3).sum(sumdim)


def _logcumsumexp(self: torch.Tensor, dim: int) -> torch.Tensor:
    most = torch.where(torch.isfinite(self), self, 0.0).amax(dim, keepdim=True)
    return (self - most).exp().cumsum(dim).log() + most


def _searchsorted(
    sorted_sequence: torch.Tensor,
    self: torch.Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: torch.Tensor | None = None,
) -> torch.Tensor:
    """How many of the sequence lie before each value; NaN comes after everything. Compares all with all."""
    if sorter is not None:
        not_decomposed: Any = NotImplemented
        return not_decomposed  # type: ignore[no-any-return]
    sequence, values = sorted_sequence.unsqueeze(-2), self.unsqueeze(-1)
    after = sequence > values if right or side == "right" else sequence >= values
    return torch.logical_not(after).sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


# Overloads whose decomposition PyTorch registers.
_OF_PYTORCH = (
    "_addmm_activation.default",
    "alpha_dropout.default",
    "bitwise_and.Scalar_Tensor",
    "bitwise_left_shift.Scalar_Tensor",
    "bitwise_or.Scalar_Tensor",
    "bitwise_right_shift.Scalar_Tensor",
    "bitwise_xor.Scalar_Tensor",
    "bucketize.Scalar",
    "bucketize.Tensor",
    "copysign.Scalar",
    "dist.default",
    "ldexp.Tensor",
    "tril_indices.default",
    "triu_indices.default",
    "upsample_bicubic2d.default",
)
_OWN: dict[OpOverload, Decomposition] = {
    _aten.addbmm.default: _addbmm,
    _aten.scatter.reduce: _scatter_reduce,
    _aten.scatter.value_reduce: _scatter_value_reduce,
    _aten.kthvalue.default: _kth_smallest,
    _aten.median.default: _median,
    _aten.median.dim: _median_of,
    _aten.searchsorted.Tensor: _searchsorted,
    _aten._trilinear.default: _trilinear,
    _aten.logcumsumexp.default: _logcumsumexp,
    _aten.__lshift__.Scalar: lambda self, other: torch.bitwise_left_shift(self, other),
    _aten.__lshift__.Tensor: lambda self, other: torch.bitwise_left_shift(self, other),
    _aten.__rshift__.Scalar: lambda self, other: torch.bitwise_right_shift(self, other),
    _aten.__rshift__.Tensor: lambda self, other: torch.bitwise_right_shift(self, other),
    _aten.linalg_vector_norm.default: torch._refs.linalg.vector_norm,
}


@cache
def decompositions_beyond_core() -> dict[OpOverload, Decomposition]:
    """Decompositions by operator, none of an operator that the edge dialect has."""
    known = global_decomposition_table["post_autograd"]
    overloads = (name.split(".") for name in _OF_PYTORCH)
    chosen = [getattr(getattr(_aten, name), overload) for name, overload in overloads]
    return {**{op: known[op] for op in chosen}, **_OWN}
