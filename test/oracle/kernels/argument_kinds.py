# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kinds of kernel arguments, and the values that stand for them in calls of kernels."""

from __future__ import annotations

import re
from typing import Any

import torch

# The runtime's dtype codes (formats of .pte files); torch has no public table of them.
DTYPE_CODES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
_LAYOUT_CODES = {torch.strided: 0}
_MEMORY_FORMAT_CODES = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}

# OracleKind of kernel_entry.h.
NONE, INT, BOOL, DOUBLE, STRING, TENSOR, INTS, DOUBLES, BOOLS, TENSORS, OPTIONAL_TENSORS = range(11)
# Type of a list's items → kind of the list.
_LIST_KINDS = {
    "int": INTS,
    "SymInt": INTS,
    "float": DOUBLES,
    "bool": BOOLS,
    "Tensor": TENSORS,
    "Optional[Tensor]": OPTIONAL_TENSORS,
}


def kind_of(value: Any, schema_type: str) -> tuple[int, Any]:
    """Return the kind and the value: ``(items, their type)`` for a list, an int for bool and codes, else `value`."""
    if value is None:
        return NONE, None
    if match := re.fullmatch(r"(?:Optional\[)?List\[(\w+(?:\[Tensor\])?)\]+", schema_type):
        listed = value if isinstance(value, (list, tuple)) else [value]  # A number stands for a list of one.
        return _LIST_KINDS[match[1]], (listed, match[1])
    if isinstance(value, torch.Tensor):
        return TENSOR, value
    if isinstance(value, str):
        return STRING, value
    for codes in (DTYPE_CODES, _LAYOUT_CODES, _MEMORY_FORMAT_CODES):
        if not isinstance(value, (bool, int, float)) and value in codes:
            return INT, codes[value]
    if isinstance(value, bool):
        return BOOL, int(value)
    if isinstance(value, float) or schema_type in ("float", "Optional[float]"):
        return DOUBLE, float(value)
    return INT, int(value)
