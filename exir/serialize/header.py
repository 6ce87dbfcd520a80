# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The extended header: end of the flatbuffer and start of the segments (magic `eh00` at byte 8)."""

import struct
from dataclasses import dataclass

from executorch.exir.schema import BytesLike
from executorch.exir.serialize.errors import MalformedProgramError

MAGIC = b"eh00"
HEADER_OFFSET = 8
_FIELDS = struct.Struct("<4sIQQQ")
# Older files lack the last field.
_SHORT_LENGTH = 24


@dataclass(frozen=True)
class ExtendedHeader:
    """Sizes and offsets in bytes, offsets counted from byte 0 of the file; no segments: both segment fields are 0."""

    program_size: int
    segment_base_offset: int = 0
    segment_data_size: int = 0

    LENGTH = _FIELDS.size

    def __bytes__(self) -> bytes:
        return _FIELDS.pack(MAGIC, self.LENGTH, self.program_size, self.segment_base_offset, self.segment_data_size)


def find_extended_header(data: BytesLike) -> ExtendedHeader | None:
    """Return the header of a file, None for a file without one.

    Raises MalformedProgramError if the header contradicts the file's size.
    """
    size = len(data)
    if bytes(data[HEADER_OFFSET : HEADER_OFFSET + 4]) != MAGIC:
        return None
    header = bytes(data[HEADER_OFFSET : HEADER_OFFSET + _FIELDS.size])
    if len(header) < _SHORT_LENGTH:
        raise MalformedProgramError(f"byte {size}: the file ends within its extended header")
    _, length, program_size, base, segment_size = _FIELDS.unpack(header.ljust(_FIELDS.size, b"\0"))
    if length < _SHORT_LENGTH:
        raise MalformedProgramError(f"byte 12: expected a header of {_SHORT_LENGTH} or more bytes; found {length}")
    if length < _FIELDS.size:
        segment_size = size - base if base else 0
    if program_size > size:
        raise MalformedProgramError(f"byte 16: the program has {program_size} bytes; the file only {size}")
    if base and (base < program_size or segment_size < 0 or base + segment_size > size):
        raise MalformedProgramError(
            f"byte 24: segments from {base} with {segment_size} bytes do not fit between the program's end at "
            f"{program_size} and the file's at {size}"
        )
    return ExtendedHeader(program_size, base, segment_size)
