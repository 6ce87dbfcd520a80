# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products of mixtures of experts, torch's and transformers', as our operator `grouped::grouped_mm`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from executorch.exir.dialects import grouped_ops  # noqa: F401  # defines grouped::grouped_mm

_NAMESPACE = "transformers"
_FALLBACK = "grouped_mm_fallback"


def grouped_decompositions() -> dict[Any, Callable[..., Any]]:
    """By operator. transformers' own is among them once that package has defined it."""
    found: dict[Any, Callable[..., Any]] = {torch.ops.aten._grouped_mm.default: _of_torch}
    if _NAMESPACE in sys.modules and hasattr(namespace := getattr(torch.ops, _NAMESPACE), _FALLBACK):
        found[getattr(namespace, _FALLBACK).default] = _by_rows
    return found


def _by_rows(self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """mat2 that is a transposed view stays what it was: weights are not copied in each call."""
    if mat2.stride(-1) != 1 and mat2.stride(-2) == 1:
        return torch.ops.grouped.grouped_mm(self, mat2.transpose(-2, -1), offs, True)  # type: ignore[no-any-return]
    return torch.ops.grouped.grouped_mm(self, mat2, offs, False)  # type: ignore[no-any-return]


def _of_torch(
    self: torch.Tensor,
    mat2: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Any:
    if bias is not None:
        return NotImplemented  # torch refuses it too
    if self.dim() == 2 and mat2.dim() == 3 and offs is not None:
        made = _by_rows(self, mat2, offs)
    elif self.dim() == 3 and mat2.dim() == 3 and offs is None:
        made = torch.bmm(self, mat2)
    else:
        return NotImplemented  # groups of columns, as gradients of weights are computed
    return made if out_dtype is None else made.to(out_dtype)
