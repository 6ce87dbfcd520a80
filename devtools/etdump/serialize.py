# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert execution traces to bytes and back, as objects. `trace.py` reads the same bytes by columns and is faster."""

from __future__ import annotations

import struct

from executorch.devtools.etdump.schema_flatcc import ETDUMP, ETDumpFlatCC
from executorch.exir.schema import BytesLike
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.writer import FlatbufferWriter


def without_size(data: BytesLike) -> memoryview:
    """The flatbuffer without the 4-byte size that recorders write before it."""
    view = memoryview(data).cast("B")
    return view[4:] if bytes(view[8:12]) == ETDUMP.identifier and bytes(view[4:8]) != ETDUMP.identifier else view


def deserialize_from_etdump_flatcc(data: BytesLike, size_prefixed: bool = True) -> ETDumpFlatCC:
    """Parse a trace. Raises MalformedProgramError for any other bytes.

    Args:
        data: the bytes of an `.etdp` file.
        size_prefixed: accepted for compatibility and ignored: the reader detects the prefix.
    """
    return FlatbufferReader(without_size(data), ETDUMP).root(ETDumpFlatCC)


def serialize_to_etdump_flatcc(etdump: ETDumpFlatCC) -> bytes:
    """Return the bytes of an `.etdp` file."""
    flatbuffer = bytes(FlatbufferWriter(ETDUMP).finish(etdump))
    return struct.pack("<I", len(flatbuffer)) + flatbuffer
