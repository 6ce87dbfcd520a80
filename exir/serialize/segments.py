# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Segments: large data after a flatbuffer, and the assembly of both to a file."""

import struct
from dataclasses import dataclass, field
from math import lcm

from executorch.exir.schema import DataSegment
from executorch.exir.serialize.cord import Cord
from executorch.exir.serialize.header import HEADER_OFFSET


@dataclass
class SegmentArea:
    """The segments in file order; offsets count from the first one."""

    data: Cord = field(default_factory=Cord)
    segments: list[DataSegment] = field(default_factory=list)
    alignment: int = 1

    def add(self, data: Cord, alignment: int) -> int:
        """Append a segment and return its index."""
        self.data.pad_to(alignment)
        self.segments.append(DataSegment(len(self.data), len(data)))
        self.data.append(data)
        self.alignment = lcm(self.alignment, alignment)
        return len(self.segments) - 1

    def add_part(self, offset: int, size: int) -> int:
        """Add a segment whose bytes are inside of another one's, and return its index."""
        self.segments.append(DataSegment(offset, size))
        return len(self.segments) - 1

    def first_segment_offset(self, size: int) -> int:
        """Return the offset of the first segment in a file whose flatbuffer ends at `size`; 0 without segments."""
        return -(-size // self.alignment) * self.alignment if self.segments else 0


def assemble_file(header: bytes, block: int, flatbuffer: memoryview, area: SegmentArea) -> Cord:
    """Assemble the file: root offset, identifier, `header`, the rest of the flatbuffer, the segments.

    block: size of the header with padding, a multiple of the flatbuffer's alignment.
    """
    (root,) = struct.unpack_from("<I", flatbuffer, 0)
    file = Cord(struct.pack("<I", root + block), flatbuffer[4:HEADER_OFFSET], header.ljust(block, b"\0"))
    file.append(flatbuffer[HEADER_OFFSET:])
    if area.segments:
        file.pad_to(area.alignment)
        file.append(area.data)
    return file
