# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Values of GGUF's blocks. Scales and their products are exact in float32, so that each value rounds at most once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[numpy.uint8]
Floats: TypeAlias = NDArray[numpy.float32]


@dataclass(frozen=True)
class Block:
    """A block format of GGUF.

    `decode`: (blocks, bytes) to (blocks, values).
    """

    values: int
    bytes: int
    decode: Callable[[Bytes], Floats]


def dequantize(kind: str, data: Bytes) -> Floats:
    """The values in `data`, whole blocks of a kind in BLOCKS."""
    block = BLOCKS[kind]
    rows = numpy.ascontiguousarray(data).reshape(-1, block.bytes)
    with numpy.errstate(all="ignore"):  # a file may hold scales that are infinite or no number
        return block.decode(rows).reshape(-1)


def grouped_integers(kind: str, data: Bytes) -> tuple[NDArray[numpy.int8], Floats]:
    """The integers of the blocks (blocks, values) and their scales (blocks, 1): the values are their products.

    For the kinds in GROUPED_BITS.
    """
    rows = numpy.ascontiguousarray(data).reshape(-1, BLOCKS[kind].bytes)
    integers = rows[:, 2:].view(numpy.int8) if kind == "Q8_0" else _nibbles_around_zero(rows)
    return integers, _half(rows[:, :2])


def _half(rows: Bytes) -> Floats:
    """float16 numbers as float32, (blocks, numbers)."""
    return numpy.ascontiguousarray(rows).view("<f2").astype(numpy.float32)


def _f32(rows: Bytes) -> Floats:
    return rows.view("<f4").astype(numpy.float32)


def _bf16(rows: Bytes) -> Floats:
    values: Floats = (rows.view("<u2").astype(numpy.uint32) << 16).view(numpy.float32)
    return values


def _q8_0(rows: Bytes) -> Floats:
    return _half(rows[:, :2]) * rows[:, 2:].view(numpy.int8).astype(numpy.float32)


def _low_then_high(packed: Bytes) -> Bytes:
    """The low halves of all bytes of a row, then their high halves."""
    return numpy.concatenate((packed & 15, packed >> 4), axis=1)


def _nibbles_around_zero(rows: Bytes) -> NDArray[numpy.int8]:
    values: NDArray[numpy.int8] = _low_then_high(rows[:, 2:]).astype(numpy.int8) - numpy.int8(8)
    return values


def _q4_0(rows: Bytes) -> Floats:
    values: Floats = _half(rows[:, :2]) * _nibbles_around_zero(rows).astype(numpy.float32)
    return values


def _five_bits(packed: Bytes) -> Floats:
    """32 values of 5 bits: their fifth bits in 4 bytes, then their low halves."""
    fifth = numpy.unpackbits(packed[:, :4], axis=1, bitorder="little")
    values: Floats = (_low_then_high(packed[:, 4:]) | fifth << 4).astype(numpy.float32)
    return values


def _q4_1(rows: Bytes) -> Floats:
    values: Floats = _half(rows[:, :2]) * _low_then_high(rows[:, 4:]).astype(numpy.float32) + _half(rows[:, 2:4])
    return values


def _q5_0(rows: Bytes) -> Floats:
    values: Floats = _half(rows[:, :2]) * (_five_bits(rows[:, 2:]) - numpy.float32(16))
    return values


def _q5_1(rows: Bytes) -> Floats:
    return _half(rows[:, :2]) * _five_bits(rows[:, 4:]) + _half(rows[:, 2:4])


# The 16 values of nibbles in IQ4_NL and IQ4_XS, and twice those of MXFP4: the numbers of a float with 4 bits.
_NONLINEAR = numpy.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], numpy.float32)
_DOUBLED_FP4 = numpy.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], numpy.float32)


def _iq4_nl(rows: Bytes) -> Floats:
    values: Floats = _half(rows[:, :2]) * _NONLINEAR[_low_then_high(rows[:, 2:])]
    return values


def _iq4_xs(rows: Bytes) -> Floats:
    upper = _crumbs(rows[:, 2:4]).swapaxes(1, 2).reshape(-1, 8)
    lower = numpy.stack((rows[:, 4:8] & 15, rows[:, 4:8] >> 4), axis=2).reshape(-1, 8)
    scale = _half(rows[:, :2]) * ((lower | upper << 4).astype(numpy.float32) - numpy.float32(32))
    nibbles = _low_then_high(rows[:, 8:].reshape(-1, 16)).reshape(-1, 8, 32)
    values: Floats = scale[:, :, None] * _NONLINEAR[nibbles]
    return values.reshape(-1, 256)


def _mxfp4(rows: Bytes) -> Floats:
    half_scale = numpy.ldexp(numpy.float32(1), rows[:, :1].astype(numpy.int32) - 128)
    values: Floats = half_scale * _DOUBLED_FP4[_low_then_high(rows[:, 1:])]
    return values


def _crumbs(packed: Bytes) -> Bytes:
    """The four values of 2 bits in each byte, (blocks, 4, bytes), those of the lowest bits first."""
    shifts = numpy.array([0, 2, 4, 6], dtype=numpy.uint8)[None, :, None]
    crumbs: Bytes = (packed[:, None] >> shifts & 3).astype(numpy.uint8)
    return crumbs


def _crumbs_of_halves(packed: Bytes) -> Bytes:
    """64 bytes as 16 groups of 16 values of 2 bits: the lowest bits of 32 bytes, their next ones, …"""
    return _crumbs(packed.reshape(-1, 32)).reshape(-1, 16, 16)


def _q2_k(rows: Bytes) -> Floats:
    scale = _half(rows[:, 80:82]) * (rows[:, :16] & 15).astype(numpy.float32)
    minimum = _half(rows[:, 82:]) * (rows[:, :16] >> 4).astype(numpy.float32)
    values = _crumbs_of_halves(rows[:, 16:80]).astype(numpy.float32)
    result: Floats = scale[:, :, None] * values - minimum[:, :, None]
    return result.reshape(-1, 256)


def _q3_k(rows: Bytes) -> Floats:
    # An unset third bit subtracts 4 from the value. Bit i of byte j belongs to value j of group i of 32 values.
    third = numpy.unpackbits(rows[:, None, :32], axis=1, bitorder="little").reshape(-1, 16, 16)
    values = (_crumbs_of_halves(rows[:, 32:96]) | third << 2).astype(numpy.float32) - numpy.float32(4)
    integers = _low_then_high(rows[:, 96:104]) | _crumbs(rows[:, 104:108]).reshape(-1, 16) << 4
    scale = _half(rows[:, 108:]) * (integers.astype(numpy.float32) - numpy.float32(32))
    result: Floats = scale[:, :, None] * values
    return result.reshape(-1, 256)


def _scales_and_minima(packed: Bytes) -> tuple[Floats, Floats]:
    """Eight scales and eight minima of 6 bits each, in 12 bytes.

    The first four of both are the low 6 bits of bytes 0 to 7, whose upper two bits are the upper ones of the last four.
    """
    low, middle, high = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = numpy.concatenate((low & 63, (high & 15) | (low >> 6) << 4), axis=1)
    minima = numpy.concatenate((middle & 63, (high >> 4) | (middle >> 6) << 4), axis=1)
    return scales.astype(numpy.float32), minima.astype(numpy.float32)


def _nibbles(packed: Bytes) -> Bytes:
    """128 bytes as eight groups of 32 values: the low halves of 32 bytes, then their high halves."""
    quarters = packed.reshape(-1, 4, 1, 32)
    return numpy.concatenate((quarters & 15, quarters >> 4), axis=2).reshape(-1, 8, 32)


def _with_minima(rows: Bytes, values: Bytes) -> Floats:
    scales, minima = _scales_and_minima(rows[:, 4:16])
    scale = (_half(rows[:, :2]) * scales)[:, :, None]
    minimum = (_half(rows[:, 2:4]) * minima)[:, :, None]
    result: Floats = scale * values.astype(numpy.float32) - minimum
    return result.reshape(-1, 256)


def _q4_k(rows: Bytes) -> Floats:
    return _with_minima(rows, _nibbles(rows[:, 16:]))


def _q5_k(rows: Bytes) -> Floats:
    shifts = numpy.arange(8, dtype=numpy.uint8)[None, :, None]
    fifth: Bytes = (rows[:, None, 16:48] >> shifts & 1).astype(numpy.uint8)
    values: Bytes = (_nibbles(rows[:, 48:]) | fifth << 4).astype(numpy.uint8)
    return _with_minima(rows, values)


def _q6_k(rows: Bytes) -> Floats:
    # Two halves of 128 values, each of four groups: low 4 bits of 64 bytes, high ones, and 2 bits of 32 bytes.
    low = rows[:, :128].reshape(-1, 2, 1, 64)
    low = numpy.concatenate((low & 15, low >> 4), axis=2).reshape(-1, 2, 4, 32)
    high = _crumbs(rows[:, 128:192].reshape(-1, 32)).reshape(-1, 2, 4, 32)
    values = (low | high << 4).astype(numpy.float32) - numpy.float32(32)
    scales = _half(rows[:, 208:]) * rows[:, 192:208].view(numpy.int8).astype(numpy.float32)
    result: Floats = scales[:, :, None] * values.reshape(-1, 16, 16)
    return result.reshape(-1, 256)


BLOCKS = {
    "F32": Block(1, 4, _f32),
    "F16": Block(1, 2, _half),
    "BF16": Block(1, 2, _bf16),
    "Q8_0": Block(32, 34, _q8_0),
    "Q4_0": Block(32, 18, _q4_0),
    "Q4_1": Block(32, 20, _q4_1),
    "Q5_0": Block(32, 22, _q5_0),
    "Q5_1": Block(32, 24, _q5_1),
    "Q2_K": Block(256, 84, _q2_k),
    "Q3_K": Block(256, 110, _q3_k),
    "Q4_K": Block(256, 144, _q4_k),
    "Q5_K": Block(256, 176, _q5_k),
    "Q6_K": Block(256, 210, _q6_k),
    "IQ4_NL": Block(32, 18, _iq4_nl),
    "IQ4_XS": Block(256, 136, _iq4_xs),
    "MXFP4": Block(32, 17, _mxfp4),
}

# Bits of the integers in kinds that are integers times a scale for each block.
GROUPED_BITS = {"Q4_0": 4, "Q8_0": 8}
