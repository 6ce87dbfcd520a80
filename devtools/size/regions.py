# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Regions of a file in order: program, segments, and padding between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from executorch.exir.schema import BytesLike, DataLocation, Program
from executorch.exir.serialize.header import find_extended_header
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.tables import PROGRAM


@dataclass(frozen=True)
class Region:
    """Bytes [offset, offset + nbytes) of the file. name: owner of a segment, or reason of padding."""

    offset: int
    nbytes: int
    kind: str
    name: str


def regions_of(data: BytesLike) -> list[Region]:
    """Regions that cover the file in order, without empty segments.

    Raises MalformedProgramError for bytes that are not a program.
    """
    view = memoryview(data).cast("B")
    return list(_regions(view, program_of(view)))


def program_of(view: memoryview) -> Program:
    """The program's tables as stored in the file, without segments."""
    header = find_extended_header(view)
    return FlatbufferReader(view[: header.program_size] if header else view, PROGRAM).root(Program)


def _regions(view: memoryview, program: Program) -> Iterator[Region]:
    header = find_extended_header(view)
    end = header.program_size if header else len(view)
    base = header.segment_base_offset if header else 0
    yield Region(0, end, "program", "tables, and constants and payloads outside segments")
    order = sorted(range(len(program.segments)), key=lambda index: program.segments[index].offset)
    users = _users(program)
    for index in order:
        segment = program.segments[index]
        if not segment.size:
            continue
        begin = base + segment.offset
        kind, name = users.get(index, ("constants", "of no tensor"))
        if begin > end:
            yield Region(end, begin - end, "padding", f"segment {index} begins at a multiple of {begin & -begin}")
        yield Region(begin, segment.size, kind, f"segment {index}: {name}")
        end = max(end, begin + segment.size)
    if end < len(view):
        yield Region(end, len(view) - end, "padding", "after the last segment")


def _users(program: Program) -> dict[int, tuple[str, str]]:
    """Segment → (kind, owner)."""
    users: dict[int, tuple[str, str]] = {}
    constants = program.constant_segment
    if constants.offsets:
        users[constants.segment_index] = ("constants", f"{len(constants.offsets)} entries")
    for row in program.mutable_data_segments or []:
        users[row.segment_index] = ("mutable buffers", f"{len(row.offsets)} entries")
    keys: dict[int, list[str]] = {}
    for named in program.named_data or []:
        keys.setdefault(named.segment_index, []).append(named.key)
    users |= {index: ("named data", ", ".join(names)) for index, names in keys.items()}
    for plan in program.execution_plan:
        for delegate in plan.delegates:
            if delegate.processed.location is DataLocation.SEGMENT:
                users[delegate.processed.index] = ("delegates", f"{delegate.id} of {plan.name}")
    return users


def totals_of(view: memoryview) -> dict[str, int]:
    """Kind → bytes, summing up to the file. Alignment between constants counts as constants."""
    program = program_of(view)
    totals: Counter[str] = Counter()
    for region in _regions(view, program):
        totals[region.kind] += region.nbytes
    constants = sum(len(buffer.storage) for buffer in program.constant_buffer)
    delegates = sum(len(payload.data) for payload in program.backend_delegate_data)
    totals += Counter(constants=constants, delegates=delegates)
    totals["program"] -= constants + delegates
    return {name: size for name, size in totals.items() if size}
