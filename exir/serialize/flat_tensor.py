# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Named tensors and bytes in a file beside the program (`.ptd`, identifier FT01): the format, writing, reading."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from executorch.exir.schema import BytesLike, DataSegment, ScalarType
from executorch.exir.serialize import tables as t
from executorch.exir.serialize.cord import Cord
from executorch.exir.serialize.errors import MalformedProgramError, SerializationError
from executorch.exir.serialize.header import HEADER_OFFSET
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.segments import SegmentArea, assemble_file
from executorch.exir.serialize.writer import FlatbufferWriter
from executorch.exir.tensor_layout import TensorLayout

FLAT_TENSOR_VERSION = 0


@dataclass
class NamedData:
    """A named blob: its segment, and the layout of a tensor."""

    key: str
    segment_index: int
    tensor_layout: TensorLayout | None


@dataclass
class FlatTensor:
    """The flatbuffer of a `.ptd` file."""

    version: int
    segments: list[DataSegment] = field(default_factory=list)
    named_data: list[NamedData] = field(default_factory=list)


FLAT_TENSOR = t.Format(
    b"FT01",
    {
        FlatTensor: (
            t.Field("version", t.U32),
            t.Field("segments", t.TableVector(DataSegment)),
            t.Field("named_data", t.TableVector(NamedData)),
        ),
        NamedData: (
            t.Field("key", t.String()),
            t.Field("segment_index", t.U32),
            t.Field("tensor_layout", t.Table(TensorLayout), optional=True),
        ),
        TensorLayout: (
            t.Field("scalar_type", t.Enum(ScalarType)),
            t.Field("sizes", t.Vector(t.I32, t.MAX_RANK)),
            t.Field("dim_order", t.Vector(t.U8, t.MAX_RANK)),
        ),
        DataSegment: t.PROGRAM.tables[DataSegment],
    },
)

_MAGIC = b"FH01"
# magic, length of this header, flatbuffer's offset and size, segments' offset and size.
_HEADER = struct.Struct("<4sIQQQQ")


class Entry(Protocol):
    """A named blob before it is written: index of its buffer, alignment in bytes, and the layout of a tensor."""

    buffer_index: int
    alignment: int
    tensor_layout: TensorLayout | None


@dataclass
class FlatTensorEntry:
    """An `Entry` as a dataclass."""

    buffer_index: int
    alignment: int
    tensor_layout: TensorLayout | None


def serialize_flat_tensor(
    buffers: Sequence[BytesLike], entries: Mapping[str, Entry], segment_alignment: int = 128
) -> Cord:
    """Return the bytes of a `.ptd` file, without buffers that no entry names. They reference `buffers` without copies.

    Raises SerializationError for an entry whose buffer does not exist.
    """
    alignments: dict[int, int] = {}
    for key, entry in entries.items():
        if not 0 <= entry.buffer_index < len(buffers):
            raise SerializationError(f"{key!r}: buffer {entry.buffer_index} is not below {len(buffers)}")
        alignments[entry.buffer_index] = max(alignments.get(entry.buffer_index, segment_alignment), entry.alignment)
    area = SegmentArea()
    segment_of = {index: area.add(Cord(buffers[index]), alignment) for index, alignment in alignments.items()}
    named = [NamedData(key, segment_of[entry.buffer_index], entry.tensor_layout) for key, entry in entries.items()]
    writer = FlatbufferWriter(FLAT_TENSOR)
    flatbuffer = writer.finish(FlatTensor(FLAT_TENSOR_VERSION, area.segments, named))
    block = -(-_HEADER.size // writer.alignment) * writer.alignment
    offset, size = HEADER_OFFSET + block, len(flatbuffer) - HEADER_OFFSET
    header = _HEADER.pack(_MAGIC, _HEADER.size, offset, size, area.first_segment_offset(offset + size), len(area.data))
    return assemble_file(header, block, flatbuffer, area)


def deserialize_flat_tensor(data: BytesLike) -> tuple[list[memoryview], dict[str, FlatTensorEntry]]:
    """Return the segments of a `.ptd` file, as views of `data`, and its named blobs. Raises MalformedProgramError."""
    view = memoryview(data).cast("B")
    if len(view) < HEADER_OFFSET + _HEADER.size or bytes(view[HEADER_OFFSET : HEADER_OFFSET + 4]) != _MAGIC:
        raise MalformedProgramError(f"byte {HEADER_OFFSET}: expected the header {_MAGIC!r}")
    _, length, offset, size, base, area = _HEADER.unpack_from(view, HEADER_OFFSET)
    if length < _HEADER.size:
        raise MalformedProgramError(f"byte 12: expected a header of {_HEADER.size} or more bytes; found {length}")
    if offset + size > len(view) or base + area > len(view):
        raise MalformedProgramError(
            f"byte 16: flatbuffer [{offset}, {offset + size}) and segments [{base}, {base + area}) do not fit the "
            f"file's {len(view)} bytes"
        )
    file = FlatbufferReader(view[: offset + size], FLAT_TENSOR).root(FlatTensor)
    buffers = []
    for index, segment in enumerate(file.segments):
        if segment.offset + segment.size > area:
            raise MalformedProgramError(
                f"segment {index}: {segment.size} bytes at {segment.offset} end outside of the segments' {area} bytes"
            )
        buffers.append(view[base + segment.offset : base + segment.offset + segment.size])
    entries = {}
    for named in file.named_data:
        if named.segment_index >= len(buffers):
            raise MalformedProgramError(f"{named.key!r}: segment {named.segment_index} is not below {len(buffers)}")
        entries[named.key] = FlatTensorEntry(named.segment_index, 1, named.tensor_layout)
    return buffers, entries
