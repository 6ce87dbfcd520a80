# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The operators on quantized tensors that fusing makes: ExecuTorch 1.4's schemas, their meaning in torch's operators.

An integer q stands for (q - zero_point) * scale, between quant_min and quant_max.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines the library
from torch import Tensor

_LIBRARY = torch.library.Library("quantized_decomposed", "FRAGMENT")
_OPERAND = "Tensor {0}, float {0}_scale, int {0}_zero_point, int {0}_quant_min, int {0}_quant_max"
_RESULT = "float out_scale, int out_zero_point, int out_quant_min, int out_quant_max"
_SUM = f"{_OPERAND.format('a')}, {_OPERAND.format('b')}, {_RESULT}"
_ROWS = (
    "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices"
)


def _add(a: Tensor, a_scale: float, a_zero: int, a_min: int, a_max: int, b: Tensor, *rest: Any) -> Tensor:
    ops = torch.ops.quantized_decomposed
    operand = ops.dequantize_per_tensor(a, a_scale, a_zero, a_min, a_max, a.dtype)
    total = operand + ops.dequantize_per_tensor(b, *rest[:4], b.dtype)
    result: Tensor = ops.quantize_per_tensor(total, *rest[4:], a.dtype)
    return result


def _embedding_byte(
    weight: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    quant_min: int,
    quant_max: int,
    indices: Tensor,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """weight: [rows, columns], int8 or uint8. scales, zero_points: [rows], or [rows, groups of columns]."""
    rows = weight[indices].to(scales.dtype).unflatten(-1, (1 if scales.dim() == 1 else scales.shape[1], -1))
    of_rows = scales.reshape(scales.shape[0], -1)[indices].unsqueeze(-1)
    if zero_points is not None:
        rows = rows - zero_points.reshape(scales.shape[0], -1)[indices].unsqueeze(-1)
    result: Tensor = (rows * of_rows).flatten(-2).to(dtype or scales.dtype)
    return result


def _define(name: str, overload: str, arguments: str, function: Callable[..., Tensor], keywords: str = "") -> None:
    """The operator, and its out variant."""

    def out_variant(*args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        made = function(*args, **kwargs)
        written: Tensor = out.resize_(made.shape).copy_(made)
        return written

    functional, writing = (f"{name}.{overload}", f"{name}.{overload}_out") if overload else (name, f"{name}.out")
    given = f"{arguments}, *, {keywords}" if keywords else arguments
    _LIBRARY.define(f"{functional}({given}) -> Tensor")
    _LIBRARY.define(f"{writing}({given}, {'' if keywords else '*, '}Tensor(a!) out) -> Tensor(a!)")
    _LIBRARY.impl(functional, function, "CompositeExplicitAutograd")
    _LIBRARY.impl(writing, out_variant, "CompositeExplicitAutograd")


_define("add", "", _SUM, _add)
_define("embedding_byte", "", _ROWS, _embedding_byte)
_define("embedding_byte", "dtype", _ROWS, _embedding_byte, "ScalarType? dtype=None")
