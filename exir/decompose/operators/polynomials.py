# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Orthogonal polynomials of a fixed degree by their recurrences, and sin(x) / x.

P[0] = 1        P[1] = first(x)        P[k + 1] = next(k, x, P[k], P[k - 1])
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten
First = Callable[[torch.Tensor], torch.Tensor]
Next = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def _chebyshev(_: int, x: torch.Tensor, current: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    return 2 * x * current - before


# operator → (P[1], the recurrence, whether x is shifted from [0, 1] to [-1, 1] first)
_RECURRENCES: dict[str, tuple[First, Next, bool]] = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev, False),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev, False),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev, False),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev, False),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, current, before: 2 * x * current - 2 * k * before, False),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, current, before: x * current - k * before, False),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda k, x, current, before: ((2 * k + 1 - x) * current - k * before) / (k + 1),
        False,
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda k, x, current, before: ((2 * k + 1) * x * current - k * before) / (k + 1),
        False,
    ),
    "shifted_chebyshev_polynomial_t": (lambda x: x, _chebyshev, True),
    "shifted_chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev, True),
    "shifted_chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev, True),
    "shifted_chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev, True),
}


def _in_floats(x: torch.Tensor) -> torch.Tensor:
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())


def _polynomial(first: First, following: Next, shifted: bool) -> Callable[..., torch.Tensor]:
    def decomposition(x: torch.Tensor, n: float) -> torch.Tensor:
        x = _in_floats(x)
        if n < 0:
            return torch.zeros_like(x)
        if shifted:
            x = 2 * x - 1
        before, current = torch.ones_like(x), first(x)
        if int(n) == 0:
            return before
        for degree in range(1, int(n)):
            before, current = current, following(degree, x, current, before)
        return torch.clone(current)

    return decomposition


def _spherical_bessel_j0(x: torch.Tensor) -> torch.Tensor:
    """Return sin(x) / x: 1 at 0, 0 at infinity."""
    x = _in_floats(x)
    value = torch.where(x == 0, 1.0, torch.sin(x) / x)
    return torch.where(torch.isinf(x), 0.0, value)


POLYNOMIAL_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    **{
        getattr(_aten, f"special_{name}").n_scalar: _polynomial(*recurrence)
        for name, recurrence in _RECURRENCES.items()
    },
    _aten.special_spherical_bessel_j0.default: _spherical_bessel_j0,
}
