# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dtypes of programs: torch's names, numbers in the program format, promotion."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

SCALAR_TYPE_CODES = {
    "Byte": 0, "Char": 1, "Short": 2, "Int": 3, "Long": 4, "Half": 5, "Float": 6, "Double": 7, "ComplexHalf": 8,
    "ComplexFloat": 9, "ComplexDouble": 10, "Bool": 11, "QInt8": 12, "QUInt8": 13, "QInt32": 14, "BFloat16": 15,
    "QUInt4x2": 16, "QUInt2x4": 17, "Bits1x8": 18, "Bits2x4": 19, "Bits4x2": 20, "Bits8": 21, "Bits16": 22,
    "Float8_e5m2": 23, "Float8_e4m3fn": 24, "Float8_e5m2fnuz": 25, "Float8_e4m3fnuz": 26,
    "UInt16": 27, "UInt32": 28, "UInt64": 29,
}  # fmt: skip
SCALAR_TYPE_NAMES = {code: name for name, code in SCALAR_TYPE_CODES.items()}

_SIGNED = {"Char": 1, "Short": 2, "Int": 4, "Long": 8}
_UNSIGNED = {"Byte": 1, "UInt16": 2, "UInt32": 4, "UInt64": 8}
_FLOATING = {"Half": 2, "BFloat16": 2, "Float": 4, "Double": 8}
_COMPLEX = {"ComplexHalf": 4, "ComplexFloat": 8, "ComplexDouble": 16}
_KINDS = ({"Bool": 1}, {**_SIGNED, **_UNSIGNED}, _FLOATING, _COMPLEX)
_COMPLEX_OF = {"Half": "ComplexHalf", "BFloat16": "ComplexFloat", "Float": "ComplexFloat", "Double": "ComplexDouble"}


def mask(dtypes: Iterable[str]) -> int:
    """Encode a set of dtypes for C++: bit i is set for dtype number i."""
    return sum(1 << SCALAR_TYPE_CODES[dtype] for dtype in set(dtypes))


def is_integral(dtype: str) -> bool:
    """Return whether a dtype is an integer or bool."""
    return dtype in _KINDS[0] or dtype in _KINDS[1]


def promote(a: str, b: str) -> str | None:
    """Like ``torch.promote_types``; None for dtypes that do not promote (quantized, 8-bit floats)."""
    if a == b:
        return a
    kinds = [next((i for i, kind in enumerate(_KINDS) if dtype in kind), None) for dtype in (a, b)]
    if kinds[0] is None or kinds[1] is None:
        return None
    if kinds[0] > kinds[1]:
        a, b, kinds = b, a, kinds[::-1]
    if kinds[0] != kinds[1]:
        # Only a complex dtype depends on the lower kind, which may widen its parts.
        return _widest(_COMPLEX_OF[a], b, _COMPLEX) if a in _FLOATING and b in _COMPLEX else b
    if a in _FLOATING and _FLOATING[a] == _FLOATING[b]:
        return "Float"  # Half with BFloat16
    if (a in _SIGNED) != (b in _SIGNED) and kinds[0] == 1:
        return _signed_for(*((a, b) if a in _SIGNED else (b, a)))
    return _widest(a, b, {**_SIGNED, **_UNSIGNED, **_FLOATING, **_COMPLEX})


def _widest(a: str, b: str, widths: dict[str, int]) -> str:
    return a if widths[a] >= widths[b] else b


def _signed_for(signed: str, unsigned: str) -> str | None:
    """Narrowest signed dtype, at least ``signed``, that represents ``unsigned`` (int64 for uint64, as in torch)."""
    needed = min(max(_SIGNED[signed], 2 * _UNSIGNED[unsigned]), 8)
    return next(name for name, width in _SIGNED.items() if width == needed)


def meeting(dtypes: Iterable[str], *, has_floating_number: bool) -> set[str]:
    """``dtypes`` and their pairwise promotions for one operator.

    A floating-point scalar promotes integers to torch's default dtype, float32.
    """
    meeting_dtypes = set(dtypes)
    if has_floating_number and meeting_dtypes and all(is_integral(dtype) for dtype in meeting_dtypes):
        meeting_dtypes.add("Float")
    return meeting_dtypes | {
        common for pair in itertools.combinations(sorted(meeting_dtypes), 2) if (common := promote(*pair))
    }
