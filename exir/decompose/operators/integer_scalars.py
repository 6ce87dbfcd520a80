# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of operators that convert a scalar to the integer dtype of their tensors.

PyTorch's decompositions truncate such a scalar in Python, or compute with it as a float. Eager converts it first: -0.5
becomes 0 as int8, and is an error as uint8. So does `scalar_tensor`, which is evaluated when the program is lowered.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch._refs.nn.functional
from torch._ops import OpOverload
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

_aten = torch.ops.aten
Scalar = int | float | bool


def _masked_fill(self: torch.Tensor, mask: torch.Tensor, value: Scalar) -> torch.Tensor:
    filled: torch.Tensor = torch._refs.masked_fill(
        self, mask, _converted(value, self.dtype) if _is_integer(self.dtype) else value
    )
    return filled


def _threshold(self: torch.Tensor, threshold: Scalar, value: Scalar) -> torch.Tensor:
    if _is_integer(self.dtype):
        return torch.where(self <= _converted(threshold, self.dtype), _converted(value, self.dtype), self)
    result: torch.Tensor = torch._refs.nn.functional.threshold(self, threshold, value)
    return result


def _addcmul(self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: Scalar = 1) -> torch.Tensor:
    _, dtype = elementwise_dtypes(self, tensor1, tensor2, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    if _is_integer(dtype):
        return self.to(dtype) + _converted(value, dtype) * tensor1.to(dtype) * tensor2.to(dtype)
    result: torch.Tensor = torch._refs.addcmul(self, tensor1, tensor2, value=value)
    return result


def _is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype is not torch.bool


def _converted(scalar: Scalar, dtype: torch.dtype) -> torch.Tensor:
    return torch.scalar_tensor(scalar, dtype=dtype)


INTEGER_SCALAR_DECOMPOSITIONS: dict[OpOverload, Callable[..., torch.Tensor]] = {
    _aten.masked_fill.Scalar: _masked_fill,
    _aten.threshold.default: _threshold,
    _aten.addcmul.default: _addcmul,
}
