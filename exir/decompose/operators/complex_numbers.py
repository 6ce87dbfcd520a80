# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose arithmetic on complex tensors to arithmetic on real and imaginary parts.

Kernels and delegates for real numbers are faster than the portable kernels for complex ones, which compute in
float64. The program format has no complex scalars, so that those of calls become tensors. Calls without complex
operands do not change.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten
Scalar = int | float
Part = torch.Tensor | Scalar
"""The real or the imaginary part of an operand."""

Parts = tuple[Part, Part]
Operand = torch.Tensor | complex


def _parts(value: Operand) -> Parts:
    """Return (real, imaginary) of a tensor or scalar; the imaginary part of a real value is 0."""
    if isinstance(value, torch.Tensor) and value.is_complex():
        pairs = torch.view_as_real(value)
        return pairs.select(-1, 0), pairs.select(-1, 1)
    return (value.real, value.imag) if isinstance(value, complex) else (value, 0)


def _is_complex(value: object) -> bool:
    return isinstance(value, complex) or (isinstance(value, torch.Tensor) and value.is_complex())


def _times(a: Part, b: Part) -> Part:
    """Return a * b, or 0 if a factor is the constant 0 (the imaginary part of a real operand)."""
    return 0 if (isinstance(a, int) and a == 0) or (isinstance(b, int) and b == 0) else a * b


def _joined(real: Part, imaginary: Part) -> torch.Tensor:
    assert isinstance(real, torch.Tensor)  # at least one operand is a complex tensor
    if not isinstance(imaginary, torch.Tensor):
        imaginary = torch.full_like(real, imaginary)
    parts = torch.broadcast_tensors(real, imaginary)
    return torch.complex(parts[0], parts[1].to(parts[0].dtype))


def _multiply(a: Parts, b: Parts) -> Parts:
    return _times(a[0], b[0]) - _times(a[1], b[1]), _times(a[0], b[1]) + _times(a[1], b[0])


def _divide(a: Parts, b: Parts) -> Parts:
    if isinstance(b[1], int):
        return a[0] / b[0], a[1] / b[0]
    real, imaginary = _multiply(a, (b[0], -b[1]))
    norm = b[0] * b[0] + b[1] * b[1]
    return real / norm, imaginary / norm


def _binary(compute: Callable[[Parts, Parts], Parts]) -> Callable[..., object]:
    def decomposition(self: Operand, other: Operand, *args: object, alpha: complex = 1, **options: object) -> object:
        if isinstance(alpha, complex) and isinstance(other, torch.Tensor):
            other, alpha = other * alpha, 1
        if not (_is_complex(self) or _is_complex(other)) or args or options or alpha != 1:
            return NotImplemented
        return _joined(*compute(_parts(self), _parts(other)))

    return decomposition


def _unary(compute: Callable[..., torch.Tensor]) -> Callable[..., object]:
    def decomposition(self: Operand, *args: object) -> object:
        return compute(*_parts(self), *args) if _is_complex(self) else NotImplemented

    return decomposition


def _exponential(real: torch.Tensor, imaginary: torch.Tensor) -> torch.Tensor:
    return _joined(real.exp() * imaginary.cos(), real.exp() * imaginary.sin())


def _sum(
    self: torch.Tensor, dim: list[int] | None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> object:
    if not _is_complex(self) or dtype is not None or not dim:
        return NotImplemented
    pairs = torch.view_as_real(self)
    return _joined(*(pairs.select(-1, part).sum(dim, keepdim) for part in (0, 1)))


def _polar(abs: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    return torch.complex(*torch.broadcast_tensors(abs * angle.cos(), abs * angle.sin()))


def _constant(value: complex, dtype: torch.dtype) -> torch.Tensor:
    real, imaginary = (torch.full((), part, dtype=dtype.to_real()) for part in (value.real, value.imag))
    return torch.complex(real, imaginary)


def _power_of_tensor(self: torch.Tensor, exponent: Operand) -> object:
    if not isinstance(exponent, complex):
        return NotImplemented
    dtype = torch.result_type(self, exponent)
    return _aten.pow.Tensor_Tensor(self.to(dtype), _constant(exponent, dtype))


def _power_of_scalar(self: Operand, exponent: torch.Tensor) -> object:
    if not isinstance(self, complex):
        return NotImplemented
    dtype = torch.result_type(exponent, self)
    return _aten.pow.Tensor_Tensor(_constant(self, dtype), exponent.to(dtype))


def _compare(operator: Callable[..., torch.Tensor]) -> Callable[..., object]:
    def decomposition(self: torch.Tensor, other: complex) -> object:
        if not isinstance(other, complex):
            return NotImplemented
        dtype = torch.result_type(self, other)
        return operator(self.to(dtype), _constant(other, dtype))

    return decomposition


def _full_like(self: torch.Tensor, fill_value: complex, **options: object) -> object:
    if not isinstance(fill_value, complex) or not self.is_complex() or options.get("dtype") not in (None, self.dtype):
        return NotImplemented
    return _constant(fill_value, self.dtype).expand(self.shape).clone()


def _scatter_value(self: torch.Tensor, dim: int, index: torch.Tensor, value: complex) -> object:
    if not isinstance(value, complex):
        return NotImplemented
    return _aten.scatter.src(self, dim, index, _constant(value, self.dtype).expand(index.shape))


def nan_to_num(
    self: torch.Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> object:
    """Replace NaN and infinity in both parts of complex numbers, which PyTorch's decomposition refuses."""
    if not _is_complex(self):
        return torch._refs.nan_to_num(self, nan, posinf, neginf)
    return torch.view_as_complex(torch._refs.nan_to_num(torch.view_as_real(self), nan, posinf, neginf))


def _add_at_indices(
    self: torch.Tensor, indices: list[torch.Tensor | None], values: torch.Tensor, accumulate: bool = False
) -> object:
    """The indices of the pairs are those of the numbers, because the pair is the last dimension."""
    if not (accumulate and _is_complex(self)):
        return NotImplemented
    pairs = _aten.index_put.default(torch.view_as_real(self), indices, torch.view_as_real(values), True)
    return torch.view_as_complex(pairs)


_ADD = _binary(lambda a, b: (a[0] + b[0], a[1] + b[1]))
_SUBTRACT = _binary(lambda a, b: (a[0] - b[0], a[1] - b[1]))
_MULTIPLY = _binary(_multiply)
_DIVIDE = _binary(_divide)
COMPLEX_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    # Eager sets a conjugate bit and computes later; tensors of programs lack this bit.
    _aten._conj.default: lambda self: _aten._conj_physical(self),
    _aten.abs.default: _unary(lambda real, imaginary: torch.hypot(real, imaginary)),
    _aten.add.Scalar: _ADD,
    _aten.add.Tensor: _ADD,
    _aten.angle.default: _unary(lambda real, imaginary: torch.atan2(imaginary, real)),
    _aten.div.Scalar: _DIVIDE,
    _aten.div.Tensor: _DIVIDE,
    _aten.eq.Scalar: _compare(torch.eq),
    _aten.exp.default: _unary(_exponential),
    _aten.full_like.default: _full_like,
    _aten.index_put.default: _add_at_indices,
    _aten.mul.Scalar: _MULTIPLY,
    _aten.mul.Tensor: _MULTIPLY,
    _aten.ne.Scalar: _compare(torch.ne),
    _aten.neg.default: _unary(lambda real, imaginary: _joined(-real, -imaginary)),
    _aten.polar.default: _polar,
    _aten.pow.Scalar: _power_of_scalar,
    _aten.pow.Tensor_Scalar: _power_of_tensor,
    _aten.scatter.value: _scatter_value,
    _aten.sub.Scalar: _SUBTRACT,
    _aten.sub.Tensor: _SUBTRACT,
    _aten.sum.dim_IntList: _sum,
}
