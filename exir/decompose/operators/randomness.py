# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose random operators to the few with kernels.

Samples have eager's distributions, but other values: the runtime has its own seeded generator
(kernels/portable/random/random.h).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten


def _uniform(self: torch.Tensor, start: float = 0.0, end: float = 1.0, *, generator: None = None) -> torch.Tensor:
    drawn: torch.Tensor = torch.rand_like(self) * (end - start) + start
    return drawn


def _normal_like(self: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: None = None) -> torch.Tensor:
    return torch.randn_like(self) * std + mean


def _normal(mean: torch.Tensor | float, std: torch.Tensor | float = 1.0, *, generator: None = None) -> torch.Tensor:
    """Sample a normal distribution whose mean or deviation is a tensor."""
    tensors = [value for value in (mean, std) if isinstance(value, torch.Tensor)]
    shape = torch.broadcast_shapes(*(value.shape for value in tensors))
    drawn: torch.Tensor = torch.randn(shape, dtype=tensors[0].dtype, device=tensors[0].device) * std + mean
    return drawn


def _normal_of_size(mean: float, std: float, size: list[int], *, generator: None = None, **kind: Any) -> torch.Tensor:
    drawn: torch.Tensor = torch.randn(size, **kind) * std + mean
    return drawn


def _exponential(self: torch.Tensor, lambd: float = 1.0, *, generator: None = None) -> torch.Tensor:
    # As in eager, the result is never zero, because users take its logarithm.
    smallest = torch.finfo(self.dtype).eps / 2
    return torch.clamp_min(-torch.log1p(-torch.rand_like(self)), smallest) / lambd


def _bernoulli(self: torch.Tensor, p: float = 0.5, *, generator: None = None) -> torch.Tensor:
    return (torch.rand(self.shape, dtype=torch.float32, device=self.device) < p).to(self.dtype)


def _native_dropout(input: torch.Tensor, p: float, train: bool | None) -> object:
    if train is not False and p > 0:
        warnings.warn(
            f"the exported program drops elements at random (native_dropout, p={p}) whenever it runs; "
            "call model.eval() before torch.export.export unless that is meant",
            stacklevel=2,
        )
    return NotImplemented


RANDOM_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    _aten.bernoulli.p: _bernoulli,
    _aten.exponential.default: _exponential,
    _aten.native_dropout.default: _native_dropout,
    _aten.normal.Tensor_Tensor: _normal,
    _aten.normal.Tensor_float: _normal,
    _aten.normal.float_Tensor: _normal,
    _aten.normal.float_float: _normal_of_size,
    _aten.normal_functional.default: _normal_like,
    _aten.uniform.default: _uniform,
}
