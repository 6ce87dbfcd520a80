# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Bundled programs ↔ the bytes of a `.bpte` file."""

from __future__ import annotations

from executorch.devtools.bundled_program import schema
from executorch.devtools.bundled_program.core import BundledProgram
from executorch.exir.schema import BytesLike
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.writer import FlatbufferWriter


def serialize_from_bundled_program_to_flatbuffer(bundled_program: BundledProgram) -> bytes:
    """Return the bytes of a `.bpte` file."""
    return bytes(FlatbufferWriter(schema.BUNDLED_PROGRAM).finish(bundled_program.serialize_to_schema()))


def deserialize_from_flatbuffer_to_bundled_program(flatbuffer: BytesLike) -> schema.BundledProgram:
    """Parse the bytes of a `.bpte` file. Raises MalformedProgramError for any other bytes."""
    return FlatbufferReader(flatbuffer, schema.BUNDLED_PROGRAM).root(schema.BundledProgram)
