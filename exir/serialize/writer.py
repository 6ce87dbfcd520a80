# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write flatbuffers by the description of a format (`tables.py`).

A flatbuffer is built from its end: children precede the tables that refer to them, so every offset is known when it is
written. Offsets here count from the end of the buffer. One call packs all fields of a table: graphs have many small
tables, and Google's `flatbuffers` package, which writes the same bytes, calls several functions for each field.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from executorch.exir.serialize import tables as t
from executorch.exir.serialize.errors import SerializationError

_OFFSET = 4
"""Bytes of an offset, and of the length of a vector."""
_LARGEST_FIELD = 8
_MAX_BYTES = 2**31 - 1
"""Offsets to vtables are signed."""


@dataclass(frozen=True)
class _Entry:
    """A slot of a table. code: struct code of its bytes in the table. is_child: they are the offset of a value."""

    slot: int
    code: str
    is_child: bool

    @property
    def size(self) -> int:
        return struct.calcsize(f"<{self.code}")


@dataclass(frozen=True)
class _Layout:
    """The bytes of a table with certain entries present.

    packed: the offset of the vtable, then the entries, the last one first. children: (index of a present entry, its
    place, from the table's end). alignment: the largest of an entry.
    """

    packed: struct.Struct
    vtable: bytes
    children: tuple[tuple[int, int], ...]
    alignment: int

    @classmethod
    def of(cls, entries: Sequence[_Entry], slot_count: int, start: int) -> _Layout:
        """Return the layout of a table whose end has the offset `start`, modulo the largest alignment."""
        at = start
        form = ""
        places = [0] * slot_count
        for entry in [*entries, None]:
            code, size = ("i", _OFFSET) if entry is None else (entry.code, entry.size)
            padding = -at % size
            form = f"{code}{padding}x{form}"
            at += padding + size
            if entry is not None:
                places[entry.slot] = at
        fields = [at - place if place else 0 for place in places]
        while fields and not fields[-1]:
            fields.pop()
        vtable = struct.pack(f"<{len(fields) + 2}H", 2 * (len(fields) + 2), at - start, *fields)
        children = tuple((i, places[entry.slot] - start) for i, entry in enumerate(entries) if entry.is_child)
        return cls(struct.Struct(f"<{form}"), vtable, children, max(_OFFSET, *(entry.size for entry in entries), 0))


@dataclass(frozen=True)
class _Plan:
    """The fields of a table, and their entries: one for each field, two for a union."""

    fields: tuple[t.Field, ...]
    entries: tuple[_Entry, ...]
    slot_count: int

    @classmethod
    def of(cls, file_format: t.Format, table: type) -> _Plan:
        slots = file_format.slots(table)
        entries: list[_Entry] = []
        for slot, field in slots:
            if isinstance(field.kind, t.Scalar):
                entries.append(_Entry(slot, field.kind.code, False))
            elif isinstance(field.kind, t.Enum):
                entries.append(_Entry(slot, "b", False))
            elif isinstance(field.kind, t.Union):
                entries += [_Entry(slot, "B", False), _Entry(slot + 1, "I", True)]
            else:
                entries.append(_Entry(slot, "I", True))
        return cls(tuple(field for _, field in slots), tuple(entries), file_format.slot_count(table))


class FlatbufferWriter:
    """Builds one flatbuffer. `inline_alignment` raises the alignment of delegate payloads kept inline."""

    def __init__(self, file_format: t.Format, inline_alignment: int = t.INLINE_DATA_ALIGNMENT) -> None:
        self._format = file_format
        self._plans: dict[type, _Plan] = {}
        self._layouts: dict[tuple[type, int, int], _Layout] = {}
        self._inline_alignment = inline_alignment
        self._parts: list[bytes | memoryview] = []  # the last part first
        self._size = 0
        self._alignment = 1
        self._vtables: dict[bytes, int] = {}

    def finish(self, root: object) -> memoryview:
        """The flatbuffer of `root`, with the file identifier at byte 4."""
        offset = self._table(root)
        identifier = self._format.identifier
        self._align(self._alignment, _OFFSET + len(identifier))
        self._prepend(identifier)
        self._prepend(struct.pack("<I", self._size + _OFFSET - offset))
        return memoryview(b"".join(reversed(self._parts)))

    @property
    def alignment(self) -> int:
        """The largest alignment of any part, to which the bytes must be aligned."""
        return self._alignment

    def _prepend(self, part: bytes | memoryview) -> int:
        """Put a part before the others; return its offset."""
        self._parts.append(part)
        self._size += len(part)
        if self._size > _MAX_BYTES:
            raise SerializationError(f"the flatbuffer {self._format.identifier!r} exceeds {_MAX_BYTES} bytes")
        return self._size

    def _align(self, alignment: int, length: int) -> None:
        """Insert padding, so that what begins `length` bytes before it has the alignment."""
        self._alignment = max(self._alignment, alignment)
        if padding := -(self._size + length) % alignment:
            self._prepend(bytes(padding))

    def _table(self, value: object) -> int:
        plan = self._plan(type(value))
        items: list[object] = []
        present = bit = 0
        for field in plan.fields:
            kind = field.kind
            if isinstance(kind, (t.Scalar, t.Enum)):
                item = getattr(value, field.name)
                default = kind.default if isinstance(kind, t.Scalar) else 0
                if item != default:
                    if isinstance(kind, t.Scalar) and kind.code == "?" and item not in (0, 1):
                        raise _does_not_fit(value, field, kind.fbs, item)
                    present |= 1 << bit
                    items.append(item)
            else:
                if isinstance(kind, t.Union):
                    present |= 1 << bit
                    # Before the member is written, so that an error of its type names this field.
                    items.append(_tag(value, field, kind))
                    bit += 1
                child = self._child(field, value)
                if child:
                    present |= 1 << bit
                    items.append(child)
            bit += 1
        return self._fields(value, plan, present, items)

    def _fields(self, value: object, plan: _Plan, present: int, items: list[object]) -> int:
        """Write the fields of a table, and its vtable unless an equal one exists; return its offset."""
        key = (type(value), present, self._size % _LARGEST_FIELD)
        layout = self._layouts.get(key)
        if layout is None:
            entries = [entry for bit, entry in enumerate(plan.entries) if present >> bit & 1]
            layout = self._layouts[key] = _Layout.of(entries, plan.slot_count, key[2])
        for index, place in layout.children:
            items[index] = self._size + place - items[index]  # type: ignore[operator]  # an offset
        self._alignment = max(self._alignment, layout.alignment)
        table = self._size + layout.packed.size
        vtable = self._vtables.get(layout.vtable)
        to_vtable = len(layout.vtable) if vtable is None else vtable - table
        try:
            packed = layout.packed.pack(to_vtable, *reversed(items))
        except (struct.error, OverflowError) as error:
            raise _misfit(value, plan) from error
        self._prepend(packed)
        if vtable is None:
            self._vtables[layout.vtable] = self._prepend(layout.vtable)
        return table

    def _plan(self, table: type) -> _Plan:
        if table not in self._plans:
            if table not in self._format.tables:
                raise SerializationError(f"{table.__name__} is not a table of the format {self._format.identifier!r}")
            self._plans[table] = _Plan.of(self._format, table)
        return self._plans[table]

    def _child(self, field: t.Field, value: object) -> int:
        """Write a field's value; return its offset, or 0 for an absent value."""
        kind, item = field.kind, getattr(value, field.name)
        if item is None:
            if field.optional:
                return 0
            raise _does_not_fit(value, field, "a value", None)
        if isinstance(kind, t.String):
            return self._string(value, field, item)
        if isinstance(kind, t.Bytes):
            alignment = max(kind.align, self._inline_alignment) if kind.align > 1 else 1
            return self._place(memoryview(item).cast("B"), len(item), alignment)
        if isinstance(kind, t.Vector):
            return self._vector(value, field, kind, item)
        if isinstance(kind, t.TableVector):
            return self._offsets([self._table(child) for child in item])
        return self._table(item)

    def _string(self, value: object, field: t.Field, text: object) -> int:
        if not isinstance(text, (str, bytes)):
            raise _does_not_fit(value, field, "text", text)
        encoded = text.encode() if isinstance(text, str) else text
        self._align(_OFFSET, len(encoded) + 1)
        return self._prepend(struct.pack("<I", len(encoded)) + encoded + b"\0")

    def _vector(self, value: object, field: t.Field, kind: t.Vector, items: Sequence[object]) -> int:
        code = kind.item.code
        try:
            packed = struct.pack(f"<{len(items)}{code}", *items)
        except (TypeError, OverflowError, struct.error) as error:
            raise _does_not_fit(value, field, f"[{kind.item.fbs}]", items) from error
        return self._place(packed, len(items), struct.calcsize(code))

    def _offsets(self, offsets: Sequence[int]) -> int:
        count = len(offsets)
        self._align(_OFFSET, _OFFSET * count)
        first = self._size + _OFFSET * count
        relative = [first - _OFFSET * index - offset for index, offset in enumerate(offsets)]
        return self._prepend(struct.pack(f"<I{count}I", count, *relative))

    def _place(self, packed: bytes | memoryview, count: int, alignment: int) -> int:
        """Write the elements of a vector; return its offset."""
        self._align(_OFFSET, len(packed))
        self._align(alignment, len(packed))  # of more than 4 bytes
        self._prepend(packed)
        return self._prepend(struct.pack("<I", count))


def _tag(value: object, field: t.Field, union: t.Union) -> int:
    member = type(getattr(value, field.name))
    if member not in union.types:
        expected = ", ".join(kind.__name__ for kind in union.types)
        raise SerializationError(
            f"{type(value).__name__}.{field.name}: expected one of {expected}; found {member.__name__}"
        )
    return union.types.index(member) + 1


def _misfit(value: object, plan: _Plan) -> SerializationError:
    """Return the error for the first number of a table that its field cannot hold."""
    for field in plan.fields:
        code = "b" if isinstance(field.kind, t.Enum) else field.kind.code if isinstance(field.kind, t.Scalar) else ""
        item = getattr(value, field.name)
        try:
            struct.pack(f"<{code}", *([item] if code else []))
        except (struct.error, OverflowError):
            return _does_not_fit(value, field, getattr(field.kind, "fbs", "byte"), item)
    return SerializationError(f"{type(value).__name__}: its vtable or an offset does not fit")


def _does_not_fit(value: object, field: t.Field, expected: str, found: object) -> SerializationError:
    return SerializationError(f"{type(value).__name__}.{field.name}: expected {expected}; found {found!r}")
