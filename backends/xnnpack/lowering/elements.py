# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What the elements of a value are: numbers, or integers that stand for numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from executorch.backends.xnnpack.serialization import xnnpack_graph as g

_DATATYPES = {
    torch.float32: g.DataType.FP32,
    torch.float16: g.DataType.FP16,
    torch.bfloat16: g.DataType.BF16,
    torch.int32: g.DataType.INT32,
}
_INTEGERS = {torch.int8: g.DataType.QINT8, torch.uint8: g.DataType.QUINT8, torch.int32: g.DataType.QINT32}
_BY_CHANNEL = {torch.int8: g.DataType.QCINT8, torch.int32: g.DataType.QCINT32}


@dataclass(frozen=True)
class Elements:
    """An element type, and how its integers stand for numbers."""

    datatype: g.DataType
    parameters: g.PerChannelQuant | g.PerTensorQuant | g.PerTokenDynamicQuant | g.PerChannelGroupQuant | None = None


def numbers(dtype: torch.dtype) -> Elements:
    """Elements that stand for themselves."""
    return Elements(_DATATYPES[dtype])


def per_tensor(dtype: torch.dtype, scale: float, zero_point: int) -> Elements:
    """(integer - zero_point) * scale"""
    return Elements(_INTEGERS[dtype], g.PerTensorQuant(scale, zero_point))


def per_channel(dtype: torch.dtype, scales: torch.Tensor, dim: int) -> Elements:
    """integer * scale, with one scale for each index of a dimension."""
    return Elements(_BY_CHANNEL[dtype], g.PerChannelQuant(scales.float().tolist(), dim))


def while_running(together: int) -> Elements:
    """What has the same indices but for the last `together` is quantized for itself, by the largest and smallest of its
    numbers: 1 for rows, 3 for images.
    """
    return Elements(g.DataType.QDINT8, g.PerTokenDynamicQuant(together))
