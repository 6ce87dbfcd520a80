# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Windows of signal processing: weights w[0], …, w[n - 1] computed from their formulas (torch.signal.windows)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten
Formula = Callable[..., torch.Tensor]


def _hamming(place: torch.Tensor, last: int, alpha: float = 0.54, beta: float = 0.46) -> torch.Tensor:
    return alpha - beta * torch.cos(place * (2 * math.pi / last))


def _blackman(place: torch.Tensor, last: int) -> torch.Tensor:
    angle = place * (math.pi / last)
    return 0.42 - 0.5 * torch.cos(2 * angle) + 0.08 * torch.cos(4 * angle)


def _bartlett(place: torch.Tensor, last: int) -> torch.Tensor:
    return 1 - torch.abs(place * (2 / last) - 1)


def _kaiser(place: torch.Tensor, last: int, beta: float = 12.0) -> torch.Tensor:
    across = place * (2 / last) - 1
    height = torch.i0(torch.sqrt(torch.clamp_min(1 - across * across, 0)) * beta)
    return height / torch.i0(torch.full_like(place[:1], beta))


def _window(formula: Formula) -> Callable[..., torch.Tensor]:
    """Return the operator's decomposition. A periodic window is one of length n + 1 without its last weight."""

    def decomposition(
        window_length: int, periodic: bool = True, *parameters: float, dtype: torch.dtype | None = None, **_: object
    ) -> torch.Tensor:
        dtype = dtype or torch.get_default_dtype()
        if window_length < 2:
            return torch.ones(window_length, dtype=dtype)
        last = window_length if periodic else window_length - 1
        return formula(torch.arange(window_length, dtype=dtype), last, *parameters)

    return decomposition


_FORMULAS: dict[str, Formula] = {
    "bartlett_window": _bartlett,
    "blackman_window": _blackman,
    "hamming_window": _hamming,
    "kaiser_window": _kaiser,
}

WINDOW_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    getattr(getattr(_aten, name), overload): _window(formula)
    for name, formula in _FORMULAS.items()
    for overload in getattr(_aten, name).overloads()
    if not overload.endswith("out")
}
