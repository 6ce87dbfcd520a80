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
_MAX_SIZE = 2**31 - 1  # of a dimension of the runtime's tensors
_MAX_READS = 16
"""Limit of the bytes that a trace's values copy, as a multiple of the debug buffer. Valid traces copy it about once."""


class DebugBuffer:
    """The bytes of a run's recorded tensors. None: the run was recorded without them."""

    def __init__(self, data: bytes | None) -> None:
        self._data = data
        self._budget = _MAX_READS * len(data or b"")

    def inflate(self, value: Value) -> Any:
        """Convert a recorded value; None for a tensor without a debug buffer and for kinds that traces do not contain.

        Raises ValueError if a tensor is outside the buffer, or if tensors refer to the same bytes repeatedly.
        """
        if value.val in _NUMBERS:
            holder, name = _NUMBERS[value.val]
            number = getattr(value, holder)
            if number is None:
                raise ValueError(f"recorded value: expected its '{holder}', found none")
            return getattr(number, name)
        if self._data is None:
            return None
        if value.val == ValueType.TENSOR and value.tensor is not None:
            return self._tensor(value.tensor, self._data)
        if value.val == ValueType.TENSOR_LIST and value.tensor_list is not None:
            return [self._tensor(tensor, self._data) for tensor in value.tensor_list.tensors]
        return None

    def _tensor(self, tensor: Tensor, data: bytes) -> torch.Tensor:
        dtype = to_dtype(tensor.scalar_type)
        if len(tensor.strides) != len(tensor.sizes) or min([*tensor.sizes, *tensor.strides], default=0) < 0:
            raise ValueError(f"recorded tensor: sizes {tensor.sizes} do not match strides {tensor.strides}")
        if max(tensor.sizes, default=0) > _MAX_SIZE:
            raise ValueError(f"recorded tensor: expected sizes up to {_MAX_SIZE}, found {tensor.sizes}")
        if 0 in tensor.sizes:
            return torch.empty(0, dtype=dtype).as_strided(tensor.sizes, [0] * len(tensor.sizes))
        # Recorded tensors are dense: elements do not overlap.
        count = max(
            1 + sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.strides, strict=True)),
            prod(tensor.sizes),
        )
        begin = tensor.offset or 0
        end = begin + count * dtype.itemsize
        if begin < 0 or end > len(data):
            raise ValueError(
                f"recorded tensor at bytes {begin} to {end}: the debug buffer has {len(data)} bytes; it may be "
                "truncated or belong to another run"
            )
        self._budget -= end - begin
        if self._budget < 0:
            raise ValueError(
                f"recorded tensor at bytes {begin} to {end}: the trace refers to more than {_MAX_READS} times the "
                f"debug buffer's {len(data)} bytes"
            )
        flat = torch.frombuffer(bytearray(data[begin:end]), dtype=dtype)
        return flat.as_strided(tensor.sizes, tensor.strides)
