# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""hypothesis strategies for tensors: shapes, broadcasting, dtypes, values, and the order of dimensions in memory."""

from __future__ import annotations

import math
from typing import Any

import torch
from hypothesis import strategies as st
from oracle.kernels.opinfo_samples import DTYPES

FLOATS = DTYPES[:4]
NUMBERS = DTYPES[:-1]
_SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 0.5)
VALUES = ("plain", "special", "extreme")

dtypes = st.sampled_from(DTYPES)
sizes = st.integers(0, 5)


@st.composite
def shapes(draw: Any, least: int = 0, most: int = 4, size: st.SearchStrategy[int] = sizes) -> list[int]:
    """Sizes of ``least`` to ``most`` dimensions. A size may be 0."""
    return [draw(size) for _ in range(draw(st.integers(least, most)))]


def _plain(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(-9 if dtype.is_signed else 0, 2 if dtype is torch.bool else 10, shape).to(dtype)


def _sprinkle(tensor: torch.Tensor, values: str) -> None:
    """Write special floats, or the limits of an integer dtype, over about every third element."""
    if tensor.dtype.is_floating_point:
        rare = torch.tensor(_SPECIAL)
    elif values == "extreme" and tensor.dtype is not torch.bool:
        limits = torch.iinfo(tensor.dtype)
        rare = torch.tensor([limits.min, limits.max, 0, 1], dtype=torch.int64)
    else:
        return
    chosen = torch.rand(tensor.shape) < 0.3
    tensor[chosen] = rare[torch.randint(len(rare), tensor.shape)][chosen].to(tensor.dtype)


@st.composite
def tensors(draw: Any, shape: list[int], dtype: torch.dtype, values: str | None = None) -> torch.Tensor:
    """A dense tensor with its dimensions in any order in memory. ``values``: one of ``VALUES``; None: any of them."""
    torch.default_generator.manual_seed(draw(st.integers(0, 999)))
    made = _plain(shape, dtype)
    kind = values or draw(st.sampled_from(VALUES))
    if kind != "plain":
        _sprinkle(made, kind)
    order = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else list(range(len(shape)))
    return made.permute(order).contiguous().permute([order.index(d) for d in range(len(shape))])


@st.composite
def broadcast(draw: Any, shape: list[int]) -> list[int]:
    """A shape that broadcasts to ``shape``."""
    kept = shape[draw(st.integers(0, len(shape))) if draw(st.booleans()) else 0 :]
    return [1 if draw(st.integers(0, 3)) == 0 else size for size in kept]
