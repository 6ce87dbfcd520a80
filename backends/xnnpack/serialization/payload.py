# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The payload of an XNNPACK delegate: header, graph as flatbuffer (identifier XN01), constants.

The header's 30 bytes, little-endian: zero u32, magic `XH00`, u16 its length, u32 offset and u32 size of the flatbuffer,
u32 offset and u64 size of the constant data. Flatbuffer and constant data are each padded to 16 bytes.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import get_type_hints

from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.schema import BytesLike
from executorch.exir.serialize import tables as t
from executorch.exir.serialize.errors import MalformedProgramError
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.writer import FlatbufferWriter

_HEADER = struct.Struct("<I4sHIIIQ")
_MAGIC = b"XH00"
_ALIGNMENT = 16
IN_NAMED_DATA = 2**64 - 1
"""Offset that marks a constant stored in the program's named data."""

# Fields whose layout the Python type does not determine.
_SPECIAL: dict[tuple[type, str], t.Kind] = {
    (g.TensorValue, "datatype"): t.I16,
    (g.PerChannelQuant, "channel_dim"): t.I32,
    (g.PerTensorQuant, "zero_point"): t.I32,
    (g.PerTokenDynamicQuant, "num_nonbatch_dims"): t.I32,
    (g.PerChannelGroupQuant, "channel_dim"): t.I32,
    (g.PerChannelGroupQuant, "group_size"): t.I32,
    (g.PerChannelGroupQuant, "deprecated_scales"): t.Vector(t.U16),
    (g.ConstantDataOffset, "offset"): t.U64,
    (g.ConstantDataOffset, "size"): t.U64,
    (g.XNode, "xnode_union"): t.Union("XNodeUnion", g.NODE_KINDS),
    (g.XNode, "output_min_max"): t.Table(g.OutputMinMax),
    (g.XValue, "xvalue_union"): t.Union("XValueUnion", (g.TensorValue, g.QuantizedTensorValue)),
    (g.TensorValue, "dims"): t.Vector(t.U32, t.MAX_RANK),
    (g.QuantizedTensorValue, "tensor_value"): t.Table(g.TensorValue),
    (g.QuantizedTensorValue, "quant_params"): t.Union(
        "XNNQuantParams", (g.PerChannelQuant, g.PerTensorQuant, g.PerTokenDynamicQuant, g.PerChannelGroupQuant)
    ),
    (g.XNNGraph, "xnodes"): t.TableVector(g.XNode),
    (g.XNNGraph, "xvalues"): t.TableVector(g.XValue),
    (g.XNNGraph, "deprecated_constants"): t.Vector(t.U32),
    (g.XNNGraph, "deprecated_sizes"): t.Vector(t.U32),
    (g.XNNGraph, "constant_data"): t.TableVector(g.ConstantDataOffset),
}
_BY_HINT: dict[object, t.Kind] = {
    int: t.U32,
    g.ValueId: t.U32,
    bool: t.BOOL,
    float: t.F32,
    str: t.String(),
    list[int]: t.Vector(t.U32),
    list[g.ValueId]: t.Vector(t.U32),
    list[float]: t.Vector(t.F32),
}
_OPTIONAL = {
    (g.XNode, "output_min_max"),
    (g.PerChannelGroupQuant, "deprecated_scales"),
    (g.XNNGraph, "deprecated_constants"),
    (g.XNNGraph, "deprecated_sizes"),
}


def _rows(table: type) -> tuple[t.Field, ...]:
    hints = get_type_hints(table)
    return tuple(
        t.Field(f.name, _SPECIAL.get((table, f.name)) or _BY_HINT[hints[f.name]], (table, f.name) in _OPTIONAL)
        for f in dataclasses.fields(table)
    )


_TABLES = (
    *(g.XNNGraph, g.XNode, g.XValue, g.TensorValue, g.QuantizedTensorValue, g.OutputMinMax, g.ConstantDataOffset),
    *(g.PerChannelQuant, g.PerTensorQuant, g.PerTokenDynamicQuant, g.PerChannelGroupQuant),
    *g.NODE_KINDS,
)
XNN_GRAPH = t.Format(b"XN01", {table: _rows(table) for table in _TABLES})


def _padded(size: int) -> int:
    return -size % _ALIGNMENT


class ConstantData:
    """The constants of one payload, each aligned to 16 bytes; entry 0 means "no constant"."""

    def __init__(self) -> None:
        self.offsets = [g.ConstantDataOffset(0, 0)]
        self._parts: list[BytesLike] = []
        self._size = 0

    @classmethod
    def kept(cls, offsets: list[g.ConstantDataOffset], data: BytesLike) -> ConstantData:
        """The constants of a deserialized payload, at their original offsets."""
        cord = cls()
        cord.offsets, cord._parts, cord._size = offsets, [data], memoryview(data).nbytes
        return cord

    def add(self, data: BytesLike) -> int:
        """Store `data` in the payload; return its index."""
        size = memoryview(data).nbytes
        self.offsets.append(g.ConstantDataOffset(self._size, size))
        self._parts += [data, bytes(_padded(size))]
        self._size += size + _padded(size)
        return len(self.offsets) - 1

    def add_named(self, key: str, size: int) -> int:
        """Refer to `size` bytes under `key` in the program's named data; return the index."""
        self.offsets.append(g.ConstantDataOffset(IN_NAMED_DATA, size, key))
        return len(self.offsets) - 1

    def bytes(self) -> bytes:
        """Return the bytes of all constants, which follow the payload's flatbuffer."""
        return b"".join(bytes(part) for part in self._parts)


def serialize_payload(graph: g.XNNGraph, constants: ConstantData) -> bytes:
    """Return the payload's bytes. Raises SerializationError for a value that does not fit its field."""
    graph.constant_data = constants.offsets
    flatbuffer = bytes(FlatbufferWriter(XNN_GRAPH).finish(graph))
    data = constants.bytes()
    start = _HEADER.size + _padded(_HEADER.size)
    data_start = start + len(flatbuffer) + _padded(len(flatbuffer))
    header = _HEADER.pack(0, _MAGIC, _HEADER.size, start, len(flatbuffer), data_start, len(data))
    return b"".join((header, bytes(start - len(header)), flatbuffer, bytes(_padded(len(flatbuffer))), data))


def deserialize_payload(payload: BytesLike) -> tuple[g.XNNGraph, memoryview]:
    """Return graph and constant data of a payload. Raises MalformedProgramError naming the bad field."""
    view = memoryview(payload).cast("B")
    if len(view) < _HEADER.size:
        raise MalformedProgramError(f"XNNPACK payload: expected at least {_HEADER.size} bytes, found {len(view)}")
    _, magic, length, start, size, data_start, data_size = _HEADER.unpack_from(view)
    if magic != _MAGIC or length < _HEADER.size:
        raise MalformedProgramError(
            f"byte 4: expected the magic {_MAGIC!r} and length {_HEADER.size}; found {magic!r}, {length}"
        )
    for what, first, extent in (("flatbuffer", start, size), ("constant data", data_start, data_size)):
        if first + extent > len(view):
            raise MalformedProgramError(f"{what} at {first} of {extent} bytes: the payload has {len(view)}")
    graph = FlatbufferReader(view[start : start + size], XNN_GRAPH).root(g.XNNGraph)
    return graph, view[data_start : data_start + data_size]
