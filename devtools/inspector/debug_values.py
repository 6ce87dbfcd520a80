# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert recorded values of a trace and its debug buffer to tensors and numbers."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from executorch.devtools.etdump.schema_flatcc import Tensor, Value, ValueType
from executorch.exir.scalar_type import to_dtype

_NUMBERS = {
    ValueType.INT: ("int_value", "int_val"),
    ValueType.BOOL: ("bool_value", "bool_val"),
    ValueType.FLOAT: ("float_value", "float_val"),
    ValueType.DOUBLE: ("double_value", "double_val"),
}


def inflate(value: Value, buffer: bytes | None) -> Any:
    """Convert a recorded value; None for a tensor without a debug buffer and for kinds that traces do not contain.

    Raises ValueError if a tensor is outside the buffer.
    """
    if value.val in _NUMBERS:
        holder, name = _NUMBERS[value.val]
        return getattr(getattr(value, holder), name)
    if buffer is None:
        return None
    if value.val == ValueType.TENSOR and value.tensor is not None:
        return _tensor(value.tensor, buffer)
    if value.val == ValueType.TENSOR_LIST and value.tensor_list is not None:
        return [_tensor(each, buffer) for each in value.tensor_list.tensors]
    return None


def _tensor(tensor: Tensor, buffer: bytes) -> torch.Tensor:
    dtype = to_dtype(tensor.scalar_type)
    if len(tensor.strides) != len(tensor.sizes) or min([*tensor.sizes, *tensor.strides], default=0) < 0:
        raise ValueError(f"recorded tensor: sizes {tensor.sizes} do not match strides {tensor.strides}")
    if 0 in tensor.sizes:
        return torch.empty(0, dtype=dtype).reshape(tensor.sizes)
    # Recorded tensors are dense: elements do not overlap.
    count = max(
        1 + sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.strides, strict=True)),
        prod(tensor.sizes),
    )
    begin = tensor.offset or 0
    end = begin + count * dtype.itemsize
    if begin < 0 or end > len(buffer):
        raise ValueError(
            f"recorded tensor at bytes {begin} to {end}: the debug buffer has {len(buffer)} bytes; it may be truncated "
            "or belong to another run"
        )
    flat = torch.frombuffer(bytearray(buffer[begin:end]), dtype=dtype)
    return flat.as_strided(tensor.sizes, tensor.strides)
