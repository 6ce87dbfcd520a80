# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Element types of XNNPACK values: plain dtypes, or integers with quantization parameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from executorch.backends.xnnpack.serialization import xnnpack_graph as g

_DATATYPES = {
    torch.float32: g.DataType.FP32,
    torch.float16: g.DataType.FP16,
    torch.bfloat16: g.DataType.BF16,
    torch.int32: g.DataType.INT32,
    torch.bool: g.DataType.BOOL,
}
_INTEGERS = {torch.int8: g.DataType.QINT8, torch.uint8: g.DataType.QUINT8, torch.int32: g.DataType.QINT32}
_BY_CHANNEL = {torch.int8: g.DataType.QCINT8, torch.int32: g.DataType.QCINT32}


@dataclass(frozen=True)
class Elements:
    """An XNNPACK datatype with its quantization parameters, if it has any."""

    datatype: g.DataType
    parameters: g.PerChannelQuant | g.PerTensorQuant | g.PerTokenDynamicQuant | g.PerChannelGroupQuant | None = None


def unquantized(dtype: torch.dtype) -> Elements:
    """Elements without quantization parameters."""
    return Elements(_DATATYPES[dtype])


def per_tensor(dtype: torch.dtype, scale: float, zero_point: int) -> Elements:
    """Integers that represent (integer - zero_point) * scale."""
    return Elements(_INTEGERS[dtype], g.PerTensorQuant(scale, zero_point))


def per_channel(dtype: torch.dtype, scales: torch.Tensor, dim: int) -> Elements:
    """Integers that represent integer * scale, with one scale for each index of `dim`."""
    return Elements(_BY_CHANNEL[dtype], g.PerChannelQuant(scales.float().tolist(), dim))


def quantized_at_run_time(together: int) -> Elements:
    """int8 quantized at run time, with one scale for each block of the last `together` dimensions: 1 for rows, 3 for
    images. The minimum and maximum of a block determine its scale.
    """
    return Elements(g.DataType.QDINT8, g.PerTokenDynamicQuant(together))
