# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fake quantization: round floats to the values of a quantized dtype.

    q = round(x / scale) + zero_point          result = (clamp(q, quant_min, quant_max) - zero_point) * scale

The second result of each operator is True where q is within the limits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten
ValueAndMask = tuple[torch.Tensor, torch.Tensor]


def _fake_quantize(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor | float, quant_min: int, quant_max: int
) -> ValueAndMask:
    """Fake-quantize x. scale, zero_point: float32, which broadcast to x."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    quantized = torch.round(wide * (1 / scale)) + zero_point
    inside = torch.logical_and(quantized >= quant_min, quantized <= quant_max)
    value = (torch.clamp(quantized, quant_min, quant_max) - zero_point) * scale
    return value.to(x.dtype), inside


def _per_tensor(x: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> ValueAndMask:
    return _fake_quantize(x, torch.full([], scale, dtype=torch.float32), float(zero_point), quant_min, quant_max)


def _per_tensor_of_tensors(
    x: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    enabled: torch.Tensor,
    quant_min: int,
    quant_max: int,
) -> ValueAndMask:
    value, inside = _fake_quantize(x, scale.reshape([]).float(), zero_point.reshape([]).float(), quant_min, quant_max)
    is_on = enabled.reshape([]) != 0
    return torch.where(is_on, value, x), torch.logical_or(inside, torch.logical_not(is_on))


def _per_channel(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, axis: int, quant_min: int, quant_max: int
) -> ValueAndMask:
    shape = [-1 if dim == axis % x.dim() else 1 for dim in range(x.dim())]
    return _fake_quantize(x, scale.float().reshape(shape), zero_point.float().reshape(shape), quant_min, quant_max)


FAKE_QUANTIZATION_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    _aten.fake_quantize_per_tensor_affine_cachemask.default: _per_tensor,
    _aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _per_tensor_of_tensors,
    _aten.fake_quantize_per_channel_affine_cachemask.default: _per_channel,
}
