# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose operators of linear algebra to those with kernels (kernels/linalg)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten


def _pinv(
    self: torch.Tensor, *, atol: torch.Tensor | None = None, rtol: torch.Tensor | None = None, hermitian: bool = False
) -> torch.Tensor:
    """Return the pseudo-inverse. Singular values up to max(atol, rtol * the largest one) count as 0.

    The default of rtol is the dtype's epsilon times the larger size, or 0 if atol is given.
    """
    if self.numel() == 0:
        return self.new_zeros([*self.shape[:-2], self.shape[-1], self.shape[-2]])
    if hermitian:
        values, vectors = torch.linalg.eigh(self)
        sizes = torch.abs(values)
        left, right = vectors, vectors.mH
    else:
        vectors, values, right = torch.linalg.svd(self, full_matrices=False)
        sizes = values
        left, right = right.mH, vectors.mH
    if rtol is None:
        epsilon = torch.finfo(self.dtype).eps * max(self.shape[-2:])
        rtol = torch.full([], 0.0 if atol is not None else epsilon, dtype=sizes.dtype)
    limit = rtol.unsqueeze(-1) * torch.amax(sizes, -1, keepdim=True)
    if atol is not None:
        limit = torch.maximum(atol.unsqueeze(-1).to(sizes.dtype), limit)
    inverse = torch.where(sizes > limit, torch.reciprocal(values), 0.0)
    return torch.matmul(left * inverse.unsqueeze(-2), right)


def _triangular_solve(
    self: torch.Tensor, A: torch.Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    matrix = A.mT if transpose else A
    solution = torch.linalg.solve_triangular(matrix, self, upper=upper != transpose, unitriangular=unitriangular)
    return solution, torch.clone(A).expand([*solution.shape[:-2], *A.shape[-2:]])


def _cholesky_solve(self: torch.Tensor, input2: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """Return X with A X = self, where A = L L^H and `input2` is L, or L^H if `upper`."""
    lower = input2.mH if upper else input2
    half = torch.linalg.solve_triangular(lower, self, upper=False)
    solution: torch.Tensor = torch.linalg.solve_triangular(lower.mH, half, upper=True)
    return solution


def _cholesky_inverse(self: torch.Tensor, upper: bool = False) -> torch.Tensor:
    identity = torch.eye(self.shape[-1], dtype=self.dtype).expand(self.shape)
    return _cholesky_solve(identity, self, upper)


LINEAR_ALGEBRA_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    _aten.cholesky_inverse.default: _cholesky_inverse,
    _aten.cholesky_solve.default: _cholesky_solve,
    _aten.linalg_pinv.atol_rtol_tensor: _pinv,
    _aten.triangular_solve.default: _triangular_solve,
}
