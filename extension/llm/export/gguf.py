# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""GGUF files: metadata and quantized tensors, mapped and not copied. Needs only numpy.

file = read_gguf("model.gguf")
file.metadata["general.architecture"], file.tensors["token_embd.weight"].dequantize()
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from executorch.extension.llm.export.gguf_blocks import BLOCKS, GROUPED_BITS, dequantize, grouped_integers

__all__ = ["GGUFError", "GGUFFile", "GGUFTensor", "GGUFType", "read_gguf"]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_DIMENSIONS = 4
_MAX_NESTING = 4
_MAX_ALIGNMENT = 1 << 20
# A name, its number of dimensions, a dimension, a type and an offset; a key, its type and a value.
_MIN_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8
_MIN_PAIR_BYTES = 8 + 4 + 1
_STRING, _ARRAY = 8, 9
_BOOL = 7
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "?", 10: "Q", 11: "q", 12: "d"}
# The same in arrays: any byte is a bool.
_ITEMS = {kind: numpy.dtype("u1" if kind == _BOOL else f"<{form}") for kind, form in _SCALARS.items()}


class GGUFError(ValueError):
    """A broken GGUF file, another kind of file, or an unsupported type of tensor."""


class GGUFType(IntEnum):
    """Storage formats of a tensor's values, numbered as in the file format."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    IQ4_NL = 20
    IQ4_XS = 23
    BF16 = 30
    MXFP4 = 39


# Types of the format that are refused by name.
_OTHER_TYPES = {
    9: "Q8_1",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    21: "IQ3_S",
    22: "IQ2_S",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    34: "TQ1_0",
    35: "TQ2_0",
    40: "NVFP4",
    41: "Q1_0",
}


@dataclass(frozen=True)
class GGUFTensor:
    """A tensor of the file: `shape` in torch's order, `data` its bytes in the file."""

    name: str
    shape: tuple[int, ...]
    type: GGUFType
    data: NDArray[numpy.uint8]

    def dequantize(self) -> NDArray[numpy.float32]:
        """Return the values as float32, in new memory."""
        return dequantize(self.type.name, self.data).reshape(self.shape)

    @property
    def grouped_bits(self) -> int | None:
        """Bits of the integers of a matrix that is stored as integers times a scale for each group, else None."""
        return GROUPED_BITS.get(self.type.name) if len(self.shape) == 2 else None

    def grouped_integers(self) -> tuple[NDArray[numpy.int8], NDArray[numpy.float32]]:
        """Return the integers of a matrix with `grouped_bits`, in its shape, and the scales, [rows, groups]."""
        values, scales = grouped_integers(self.type.name, self.data)
        return values.reshape(self.shape), scales.reshape(self.shape[0], -1)


@dataclass(frozen=True)
class GGUFFile:
    """Metadata and tensors of a file.

    Arrays of numbers and bools in the metadata are numpy arrays, all other arrays are lists.
    """

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, GGUFTensor]


class _Reader:
    """Reads numbers and texts in order, within the bounds of the file."""

    def __init__(self, path: Path, data: NDArray[numpy.uint8]) -> None:
        self.path = path
        self.bytes = data
        self.data: memoryview = data.data
        self.at = 0

    def error(self, what: str) -> GGUFError:
        return GGUFError(f"{self.path}: at byte {self.at}: {what}")

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> memoryview:
        if size > self.left:
            raise self.error(f"expected {size} bytes, found {self.left}")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def count(self, what: str, smallest: int) -> int:
        """Read the number of items, each of which takes at least `smallest` bytes."""
        count: int = self.number("Q")
        if count > self.left // smallest:
            raise self.error(f"expected {what} in the last {self.left} bytes, found a count of {count}")
        return count

    def text(self) -> str:
        size: int = self.number("Q")
        try:
            return str(self.take(size), "utf-8", "replace")
        except OverflowError as error:
            raise self.error(f"expected a text of at most {self.left} bytes, found a length of {size}") from error

    def value(self, kind: int, nesting: int = 0) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self.array(nesting)
        if kind not in _SCALARS:
            raise self.error(f"expected a value of type 0 to 12, found type {kind}")
        return self.number(_SCALARS[kind])

    def array(self, nesting: int) -> list[Any] | NDArray[Any]:
        if nesting >= _MAX_NESTING:
            raise self.error(f"expected at most {_MAX_NESTING} nested arrays, found more")
        kind: int = self.number("I")
        if kind in _ITEMS:
            size = _ITEMS[kind].itemsize * self.count("values", _ITEMS[kind].itemsize)
            self.take(size)
            items = numpy.array(self.bytes[self.at - size : self.at].view(_ITEMS[kind]))
            return items != 0 if kind == _BOOL else items
        count = self.count("values", 12 if kind == _ARRAY else 8)
        return [self.value(kind, nesting + 1) for _ in range(count)]


def read_gguf(path: str | Path) -> GGUFFile:
    """Map a file and check its header. Raises GGUFError, OSError."""
    path = Path(path)
    if path.stat().st_size < 24:
        raise GGUFError(f"{path}: expected a GGUF file, found {path.stat().st_size} bytes")
    data: NDArray[numpy.uint8] = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    reader = _Reader(path, data)
    if bytes(reader.take(4)) != _MAGIC:
        raise GGUFError(f"{path}: expected a GGUF file, found a file that begins with {bytes(data[:4])!r}")
    version = reader.number("I")
    if version not in _VERSIONS:
        raise GGUFError(f"{path}: expected version 2 or 3 in little-endian order, found {version}")
    num_tensors = reader.count("tensors", _MIN_TENSOR_BYTES)
    num_pairs = reader.count("values", _MIN_PAIR_BYTES)
    metadata: dict[str, Any] = {}
    for _ in range(num_pairs):
        key = reader.text()
        if key in metadata:
            raise reader.error(f"expected each key once, found {key!r} twice")
        metadata[key] = reader.value(reader.number("I"))
    headers = [_tensor_header(reader) for _ in range(num_tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
        raise GGUFError(
            f"{path}: general.alignment: expected a power of two up to {_MAX_ALIGNMENT}, found {alignment!r}"
        )
    start = -(-reader.at // alignment) * alignment
    tensors: dict[str, GGUFTensor] = {}
    for header in headers:
        if header.name in tensors:
            raise GGUFError(f"{path}: expected each tensor once, found {header.name!r} twice")
        tensors[header.name] = _tensor(path, header, data, start, alignment)
    # Tensors that share bytes would let a small file describe a checkpoint of any size.
    together = sum(tensor.data.nbytes for tensor in tensors.values())
    if together > len(data):
        raise GGUFError(f"{path}: expected tensors that share no bytes, found {together} bytes of them in {len(data)}")
    return GGUFFile(path, metadata, tensors)


@dataclass(frozen=True)
class _Header:
    name: str
    shape: tuple[int, ...]
    type: int
    offset: int


def _tensor_header(reader: _Reader) -> _Header:
    name = reader.text()
    dimensions = reader.number("I")
    if dimensions > _MAX_DIMENSIONS:
        raise reader.error(f"tensor {name!r}: expected at most {_MAX_DIMENSIONS} dimensions, found {dimensions}")
    shape = tuple(reader.number("Q") for _ in range(dimensions))
    return _Header(name, shape[::-1], reader.number("I"), reader.number("Q"))


def _tensor(path: Path, header: _Header, data: NDArray[numpy.uint8], start: int, alignment: int) -> GGUFTensor:
    def error(what: str) -> GGUFError:
        return GGUFError(f"{path}: tensor {header.name!r}: {what}")

    if header.type not in {kind.value for kind in GGUFType}:
        supported = ", ".join(kind.name for kind in GGUFType)
        found = _OTHER_TYPES.get(header.type, f"type {header.type}")
        raise error(f"expected one of the types {supported}, found {found}")
    kind = GGUFType(header.type)
    block = BLOCKS[kind.name]
    columns = header.shape[-1] if header.shape else 1
    if 0 in header.shape:
        raise error(f"expected elements, found sizes {list(header.shape)}")
    if columns % block.values:
        raise error(f"expected rows of a multiple of {block.values} values, found {columns}")
    size = math.prod(header.shape) // block.values * block.bytes
    if header.offset % alignment or header.offset + size > len(data) - start:
        raise error(f"expected a multiple of {alignment} and {size} bytes in the file, found offset {header.offset}")
    first = start + header.offset
    return GGUFTensor(header.name, header.shape, kind, data[first : first + size])
