# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare two tensors of two files: metadata, and data element by element."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from executorch.devtools.pte_tool.differences import ElementDiff, FieldDiff, OperatorUsage, TensorDataDiff, TensorInfo
from executorch.exir.scalar_type import to_dtype
from executorch.exir.schema import ExtraTensorInfo, Tensor


def describe(index: int, tensor: Tensor, usages: dict[int, list[OperatorUsage]]) -> TensorInfo:
    """Describe a tensor in the data model of the result."""
    extra = tensor.extra_tensor_info
    name = (extra.fully_qualified_name if extra is not None else None) or None
    return TensorInfo(
        index, tensor.scalar_type, list(tensor.sizes), name, tensor.data_buffer_idx, usages.get(index, [])
    )


def compare_tensors(
    a: Tensor,
    b: Tensor,
    info_a: TensorInfo,
    info_b: TensorInfo,
    data_a: bytes | None,
    data_b: bytes | None,
    samples: int,
) -> TensorDataDiff | None:
    """Return the differences between two tensors; None if equal. `samples`: maximum number of elements to list."""
    fields = _fields(a, b)
    differ = data_a != data_b
    if not fields and not differ:
        return None
    diff = TensorDataDiff(info_a, info_b, len(data_a or b""), len(data_b or b""), differ, fields)
    if differ and data_a is not None and data_b is not None:
        _compare_elements(diff, a, data_a, data_b, samples)
    return diff


def _fields(a: Any, b: Any, prefix: str = "") -> list[FieldDiff]:
    differences: list[FieldDiff] = []
    for field in dataclasses.fields(a):
        value_a, value_b = getattr(a, field.name), getattr(b, field.name)
        if isinstance(value_a, ExtraTensorInfo) and isinstance(value_b, ExtraTensorInfo):
            differences += _fields(value_a, value_b, f"{field.name}.")
        elif value_a != value_b:
            differences.append(FieldDiff(prefix + field.name, value_a, value_b))
    return differences


def _compare_elements(diff: TensorDataDiff, tensor: Tensor, data_a: bytes, data_b: bytes, samples: int) -> None:
    if any(size < 0 for size in tensor.sizes):
        return  # no element has a place
    dtype = to_dtype(tensor.scalar_type)
    count = min(math.prod(tensor.sizes), *(len(data) // dtype.itemsize for data in (data_a, data_b)))
    values_a, values_b = (
        torch.frombuffer(bytearray(data), dtype=dtype, count=count) if count else torch.empty(0, dtype=dtype)
        for data in (data_a, data_b)
    )
    wide = torch.complex128 if dtype.is_complex else torch.float64
    # Compare in the tensors' dtype, because float64 does not represent large int64. Two NaNs are equal.
    unequal = (values_a != values_b) & ~((values_a != values_a) & (values_b != values_b))
    distance = (values_a.to(wide) - values_b.to(wide)).abs()[unequal]
    diff.num_elements, diff.num_differing = count, int(unequal.sum())
    if diff.num_differing:
        diff.max_abs_diff, diff.mean_abs_diff = float(distance.max()), float(distance.mean())
    for position in unequal.nonzero().flatten()[:samples].tolist():
        place = tuple(int(index) for index in torch.unravel_index(torch.tensor(position), tuple(tensor.sizes)))
        pair = (values.to(wide)[position].item() for values in (values_a, values_b))
        diff.element_diffs.append(ElementDiff(position, place, *pair))
