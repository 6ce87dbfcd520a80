# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Element types of the `.pte` format, with the numbers of c10::ScalarType."""

from enum import IntEnum

import torch


class ScalarType(IntEnum):
    """A tensor's element type. The numbers are wire facts."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4x2 = 16
    QUINT2x4 = 17
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29


_DTYPES: dict[ScalarType, torch.dtype] = {
    ScalarType.BYTE: torch.uint8,
    ScalarType.CHAR: torch.int8,
    ScalarType.SHORT: torch.int16,
    ScalarType.INT: torch.int32,
    ScalarType.LONG: torch.int64,
    ScalarType.HALF: torch.float16,
    ScalarType.FLOAT: torch.float32,
    ScalarType.DOUBLE: torch.float64,
    ScalarType.COMPLEX32: torch.complex32,
    ScalarType.COMPLEX64: torch.complex64,
    ScalarType.COMPLEX128: torch.complex128,
    ScalarType.BOOL: torch.bool,
    ScalarType.QINT8: torch.qint8,
    ScalarType.QUINT8: torch.quint8,
    ScalarType.QINT32: torch.qint32,
    ScalarType.BFLOAT16: torch.bfloat16,
    ScalarType.QUINT4x2: torch.quint4x2,
    ScalarType.QUINT2x4: torch.quint2x4,
    ScalarType.BITS16: torch.bits16,
    ScalarType.FLOAT8E5M2: torch.float8_e5m2,
    ScalarType.FLOAT8E4M3FN: torch.float8_e4m3fn,
    ScalarType.FLOAT8E5M2FNUZ: torch.float8_e5m2fnuz,
    ScalarType.FLOAT8E4M3FNUZ: torch.float8_e4m3fnuz,
    ScalarType.UINT16: torch.uint16,
    ScalarType.UINT32: torch.uint32,
    ScalarType.UINT64: torch.uint64,
}
_SCALAR_TYPES = {dtype: scalar_type for scalar_type, dtype in _DTYPES.items()}


def to_scalar_type(dtype: torch.dtype) -> ScalarType:
    """Return the element type of a torch dtype. Raises ValueError for one that the format lacks."""
    if dtype not in _SCALAR_TYPES:
        raise ValueError(f"the program format has no element type for {dtype}")
    return _SCALAR_TYPES[dtype]


def to_dtype(scalar_type: ScalarType) -> torch.dtype:
    """Return the torch dtype of an element type."""
    return _DTYPES[scalar_type]


def element_size(scalar_type: ScalarType) -> int:
    """Return the number of bytes of one element."""
    return _DTYPES[scalar_type].itemsize
