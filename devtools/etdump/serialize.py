# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Execution traces ↔ bytes, value by value. `trace.py` reads the same bytes by columns, faster."""

from __future__ import annotations

import struct

from executorch.devtools.etdump.schema_flatcc import ETDUMP, ETDumpFlatCC
from executorch.exir.schema import BytesLike
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.writer import FlatbufferWriter


def without_size(data: BytesLike) -> memoryview:
    """The flatbuffer alone: recorders write its size, 4 bytes, before it."""
    view = memoryview(data).cast("B")
    return view[4:] if bytes(view[8:12]) == ETDUMP.identifier and bytes(view[4:8]) != ETDUMP.identifier else view


def deserialize_from_etdump_flatcc(data: BytesLike, size_prefixed: bool = True) -> ETDumpFlatCC:
    """The trace in `data`; raises MalformedProgramError if it is none.

    Args:
        data: the bytes of an `.etdp` file.
        size_prefixed: accepted for callers that say it; the bytes do.
    """
    return FlatbufferReader(without_size(data), ETDUMP).root(ETDumpFlatCC)


def serialize_to_etdump_flatcc(etdump: ETDumpFlatCC) -> bytes:
    """The bytes of an `.etdp` file."""
    flatbuffer = bytes(FlatbufferWriter(ETDUMP).finish(etdump))
    return struct.pack("<I", len(flatbuffer)) + flatbuffer
