# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read execution traces by columns: fast for 100,000 events, also from truncated files.

A flatbuffer table refers to its layout (vtable) by an offset. The reader processes all tables of a kind at once, as
arrays of positions. It skips and counts tables outside the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from executorch.devtools.etdump.schema_flatcc import (
    ETDUMP,
    AllocationEvent,
    DebugEvent,
    ETDumpFlatCC,
    Event,
    ProfileEvent,
    RunData,
)
from executorch.devtools.etdump.serialize import without_size
from executorch.exir.schema import BytesLike
from executorch.exir.serialize.errors import MalformedProgramError
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.regular_file import read_regular_file

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Field offsets of the tables that `ETDumpGen` (trace_tables.h) writes. A truncated file may have lost its vtables.
_OWN_LAYOUT = {
    ETDumpFlatCC: (4, 8),
    RunData: (4, 8, 12, 16),
    Event: (4, 8, 12),
    ProfileEvent: (4, 24, 28, 32, 36, 40, 8, 16),
}
_NONE = -1
_BYTES_PER_RUN = 512
"""Share of a run in the budget of reads. Reading a run takes 2 ms even if it is empty, and a hostile file can list one
in every four bytes. Recorded runs have 100 bytes or more.
"""


@dataclass
class ProfileColumns:
    """Profiling events in file order. Texts are indices into `Trace.texts`; -1 means none."""

    name: Ints
    instruction: Ints
    delegate_number: Ints
    delegate_text: Ints
    start: npt.NDArray[np.uint64]
    end: npt.NDArray[np.uint64]
    metadata: list[bytes | None]

    def __len__(self) -> int:
        return len(self.name)


@dataclass
class Run:
    """One run: a method load or an execution."""

    name: str
    bundled_input_index: int | None
    profile: ProfileColumns
    debug: list[DebugEvent]
    allocations: list[tuple[str, int]]


@dataclass
class Trace:
    """A trace. missing: one line for each defect of a damaged file; empty for a complete one."""

    runs: list[Run]
    texts: list[str]
    missing: list[str] = field(default_factory=list)


def read_trace(data: BytesLike) -> Trace:
    """Read the bytes of an `.etdp` file. Raises MalformedProgramError for any other bytes."""
    return _Reader(data).read()


def read_trace_file(path: str | os.PathLike[str]) -> Trace:
    """Read an `.etdp` file. Raises OSError, and MalformedProgramError that names a file which is not a trace."""
    try:
        return read_trace(read_regular_file(path))
    except MalformedProgramError as error:
        raise MalformedProgramError(f"{os.fspath(path)}: {error}") from error


class _Reader:
    def __init__(self, data: BytesLike) -> None:
        view = without_size(data)
        self._raw = np.frombuffer(view, np.uint8)
        self._tables = FlatbufferReader(view, ETDUMP)
        self._texts: list[str] = []
        self._text_index: dict[bytes, int] = {}
        self._missing: list[str] = []
        self._budget = 16 * len(view)
        if len(view) < 8 or bytes(view[4:8]) != ETDUMP.identifier:
            raise MalformedProgramError(
                f"expected an execution trace with the identifier {ETDUMP.identifier!r} at byte 4 or 8; found "
                f"{len(view)} bytes that begin with {bytes(view[:12])!r}"
            )
        prefix = len(memoryview(data).cast("B")) - len(view)
        stated_size = int.from_bytes(memoryview(data).cast("B")[:4], "little") if prefix else len(view)
        if stated_size > len(view):
            self._missing.append(f"the file is truncated: expected {stated_size} bytes, found {len(view)}")

    def read(self) -> Trace:
        root = self._numbers(np.zeros(1, np.int64), np.uint32)
        runs = int(self._slot_position(root, _OWN_LAYOUT[ETDumpFlatCC], 1)[0])
        if runs < 0:
            raise MalformedProgramError("the trace lacks its list of runs: the file is truncated or damaged")
        positions, lost = self._items(runs)
        if lost:
            self._missing.append(f"{lost} of {lost + len(positions)} runs cannot be read")
        return Trace([self._run(int(position)) for position in positions], self._texts, self._missing)

    def _run(self, position: int) -> Run:
        self._spend(_BYTES_PER_RUN, position)
        at = np.array([position], np.int64)
        layout = _OWN_LAYOUT[RunData]
        name = self._strings(self._follow(at, layout, 0))[0]
        index = int(self._field(at, layout, 1, np.int32, -1)[0])
        allocators = self._allocators(int(self._slot_position(at, layout, 2)[0]))
        events, lost = self._items(int(self._slot_position(at, layout, 3)[0]))
        profile, kept = self._profile(self._follow(events, _OWN_LAYOUT[Event], 0))
        debug, lost_debug = self._read_each(DebugEvent, self._follow(events, _OWN_LAYOUT[Event], 2))
        sizes, lost_sizes = self._read_each(AllocationEvent, self._follow(events, _OWN_LAYOUT[Event], 1))
        lost += lost_debug + lost_sizes + len(kept) - int(kept.sum())
        title = self._texts[name] if name >= 0 else "?"
        if lost:
            self._missing.append(f"run '{title}': {lost} events cannot be read")
        allocations = [(_named(allocators, size.allocator_id), size.allocation_size) for size in sizes]
        return Run(title, None if index < 0 else index, profile, debug, allocations)

    def _profile(self, at: Ints) -> tuple[ProfileColumns, Flags]:
        at = at[at >= 0]
        layout = _OWN_LAYOUT[ProfileEvent]
        kept = self._inside(at, 4) & self._is_whole(at, layout, 6, 8) & self._is_whole(at, layout, 7, 8)
        at = at[kept]

        def number(slot: int, dtype: Any, default: int) -> Any:
            return self._field(at, layout, slot, dtype, default)

        metadata = [None if offset < 0 else self._bytes(int(offset)) for offset in self._follow(at, layout, 5)]
        start, end = number(6, np.uint64, 0), number(7, np.uint64, 0)
        chain = number(1, np.int32, 0).astype(np.int64)
        instruction = number(2, np.int32, -1).astype(np.int64)
        columns = ProfileColumns(
            self._strings(self._follow(at, layout, 0)),
            np.where(chain < 0, -1, instruction),  # only events in a chain have an instruction
            number(3, np.int32, -1).astype(np.int64),
            self._strings(self._follow(at, layout, 4)),
            start,
            end,
            metadata,
        )
        return columns, kept

    def _read_each(self, table: type[Any], positions: Ints) -> tuple[list[Any], int]:
        """Read the tables at the positions one by one; also return the number of unreadable ones."""
        read: list[Any] = []
        lost = 0
        for position in positions[positions >= 0]:
            try:
                read.append(self._tables.table_at(table, int(position)))
            except MalformedProgramError:
                lost += 1  # the caller reports the count
        return read, lost

    def _allocators(self, at: int) -> list[str]:
        positions, _ = self._items(at)
        names = self._strings(self._follow(positions, (4,), 0))
        return [self._texts[name] if name >= 0 else "?" for name in names]

    # The methods below read one field of many tables at once.

    def _inside(self, at: Ints, size: int) -> Flags:
        inside: Flags = (at >= 0) & (at + size <= len(self._raw))
        return inside

    def _gather(self, at: Ints, dtype: Any) -> tuple[Any, Flags]:
        width = np.dtype(dtype).itemsize
        inside = self._inside(at, width)
        if len(self._raw) < width:
            return np.zeros(len(at), dtype), inside
        safe = np.where(inside, at, 0)
        values = self._raw[safe[:, None] + np.arange(width)].view(np.dtype(dtype).newbyteorder("<")).ravel()
        return np.where(inside, values, 0).astype(dtype), inside

    def _numbers(self, at: Ints, dtype: Any) -> Ints:
        values: Ints = self._gather(at, dtype)[0].astype(np.int64)
        return values

    def _number(self, at: int) -> int:
        return int(self._numbers(np.array([at], np.int64), np.uint32)[0])

    def _slot_position(self, at: Ints, layout: tuple[int, ...], slot: int) -> Ints:
        """Positions of the tables' field; -1 where it is absent."""
        back, _ = self._gather(at, np.int32)
        vtable = at - back
        size, vtable_exists = self._gather(vtable, np.uint16)
        entry, entry_exists = self._gather(vtable + 4 + 2 * slot, np.uint16)
        offset = np.where(vtable_exists & entry_exists & (4 + 2 * slot < size), entry, 0).astype(np.int64)
        offset = np.where(vtable_exists, offset, layout[slot])
        position: Ints = np.where((offset != 0) & self._inside(at, 4), at + offset, _NONE)
        return position

    def _is_whole(self, at: Ints, layout: tuple[int, ...], slot: int, size: int) -> Flags:
        """Return whether the tables' field is absent or within the file."""
        position = self._slot_position(at, layout, slot)
        return (position < 0) | self._inside(position, size)

    def _field(self, at: Ints, layout: tuple[int, ...], slot: int, dtype: Any, default: int) -> Any:
        values, inside = self._gather(self._slot_position(at, layout, slot), dtype)
        return np.where(inside, values, np.array(default, dtype))

    def _follow(self, at: Ints, layout: tuple[int, ...], slot: int) -> Ints:
        """Positions to which the tables' field refers; -1 where it is absent."""
        position = self._slot_position(at, layout, slot)
        distance, inside = self._gather(position, np.uint32)
        target: Ints = np.where(inside & (distance != 0), position + distance.astype(np.int64), _NONE)
        return target

    def _items(self, field_at: int) -> tuple[Ints, int]:
        """Positions of the tables in the vector referred to at `field_at`, and the number of those outside the file."""
        if field_at < 0:
            return np.zeros(0, np.int64), 0
        begin = field_at + self._number(field_at)
        count = self._number(begin)
        present = max(0, min(count, (len(self._raw) - begin - 4) // 4))
        self._spend(4 * present, begin)
        at = begin + 4 + 4 * np.arange(present, dtype=np.int64)
        positions: Ints = at + self._numbers(at, np.uint32)
        inside = self._inside(positions, 4)
        return positions[inside], count - int(inside.sum())

    def _spend(self, amount: int, at: int) -> None:
        """Raise if the trace refers to the same bytes repeatedly: a valid trace refers to each byte about once."""
        self._budget -= amount
        if self._budget < 0:
            raise MalformedProgramError(f"byte {at}: the trace refers to more data than the file can contain")

    def _bytes(self, at: int) -> bytes:
        content = self._raw[at + 4 : at + 4 + self._number(at)].tobytes()
        self._spend(len(content), at)
        return content

    def _strings(self, at: Ints) -> Ints:
        """Indices of the texts at the positions; -1 where there is none."""
        unique, inverse = np.unique(at, return_inverse=True)
        lengths, inside = self._gather(unique, np.uint32)
        indices = np.full(len(unique), _NONE, np.int64)
        for i in np.flatnonzero(inside & (unique >= 0)):
            begin = int(unique[i]) + 4
            text = self._raw[begin : begin + int(lengths[i]) + 1].tobytes()
            self._spend(len(text), begin)
            if len(text) == int(lengths[i]) + 1 and text[-1] == 0:
                indices[i] = self._index_of(text[:-1])
        return indices[inverse]

    def _index_of(self, text: bytes) -> int:
        """Index of the text at a position; -1 if the bytes are not a text, as in a truncated file."""
        if text not in self._text_index:
            try:
                self._texts.append(text.decode("utf-8"))
            except UnicodeDecodeError:
                return _NONE
            self._text_index[text] = len(self._texts) - 1
        return self._text_index[text]


def _named(allocators: list[str], number: int) -> str:
    return allocators[number - 1] if 0 < number <= len(allocators) else f"allocator {number}"
