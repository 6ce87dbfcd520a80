# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose grouped products (mixtures of experts) of torch and transformers to `grouped::grouped_mm`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

from executorch.exir.decompose.operators.package_operators import rules_of_package
from executorch.exir.dialects import grouped_ops  # noqa: F401  # defines grouped::grouped_mm


def grouped_decompositions() -> dict[OpOverload, Callable[..., object]]:
    """Return decompositions by operator, including that of transformers if the package is imported."""
    of_transformers = rules_of_package("transformers", {"grouped_mm_fallback": _by_rows})
    return {torch.ops.aten._grouped_mm.default: _of_torch, **of_transformers}


def _by_rows(self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """Pass the base of a transposed view, so that no call copies weights."""
    if mat2.stride(-1) != 1 and mat2.stride(-2) == 1:
        return torch.ops.grouped.grouped_mm(self, mat2.transpose(-2, -1), offs, True)  # type: ignore[no-any-return]
    return torch.ops.grouped.grouped_mm(self, mat2, offs, False)  # type: ignore[no-any-return]


def _of_torch(
    self: torch.Tensor,
    mat2: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> object:
    if bias is not None:
        return NotImplemented  # torch refuses it too
    if self.dim() == 2 and mat2.dim() == 3 and offs is not None:
        product = _by_rows(self, mat2, offs)
    elif self.dim() == 3 and mat2.dim() == 3 and offs is None:
        product = torch.bmm(self, mat2)
    else:
        return NotImplemented  # groups of columns, which only gradients of weights need
    return product if out_dtype is None else product.to(out_dtype)
