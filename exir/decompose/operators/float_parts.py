# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A floating-point number as mantissa * 2 ** exponent with 0.5 <= |mantissa| < 1 (torch.frexp)."""

from __future__ import annotations

import torch

# dtype → the integer of its width, the bits of the mantissa, the bits of the exponent
_FIELDS = {torch.float32: (torch.int32, 23, 8), torch.float64: (torch.int64, 52, 11)}


def frexp(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mantissas and the int32 exponents, exactly. 0, infinities and NaN are their mantissas; exponent 0."""
    x = self if self.dtype in _FIELDS else self.to(torch.float32)
    integer, mantissa_bits, exponent_bits = _FIELDS[x.dtype]
    largest = (1 << exponent_bits) - 1
    below_one = largest // 2 - 1  # the stored exponent of numbers in [0.5, 1)
    is_subnormal = torch.abs(x) < torch.finfo(x.dtype).tiny
    bits = torch.where(is_subnormal, x * 2.0 ** (mantissa_bits + 1), x).view(integer)
    stored = torch.bitwise_right_shift(bits, mantissa_bits) & largest
    exponent = (stored - below_one - torch.where(is_subnormal, mantissa_bits + 1, 0)).to(torch.int32)
    mantissa = ((bits & ~(largest << mantissa_bits)) | (below_one << mantissa_bits)).view(x.dtype)
    has_none = (x == 0) | ~torch.isfinite(x)
    return torch.where(has_none, x, mantissa).to(self.dtype), torch.where(has_none, 0, exponent)
