# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write flatbuffers by the description of a format (`tables.py`)."""

import struct
from collections.abc import Sequence

import flatbuffers  # type: ignore[import-untyped]

from executorch.exir.serialize import tables as t
from executorch.exir.serialize.errors import SerializationError

_SCALAR_PREPEND = {
    "?": "PrependBoolSlot",
    "b": "PrependInt8Slot",
    "B": "PrependUint8Slot",
    "h": "PrependInt16Slot",
    "H": "PrependUint16Slot",
    "i": "PrependInt32Slot",
    "I": "PrependUint32Slot",
    "q": "PrependInt64Slot",
    "Q": "PrependUint64Slot",
    "f": "PrependFloat32Slot",
    "d": "PrependFloat64Slot",
}


_Row = tuple[int, t.Field, t.Kind]


class FlatbufferWriter:
    """Builds one flatbuffer. `inline_alignment` raises the alignment of delegate payloads kept inline."""

    def __init__(self, file_format: t.Format, inline_alignment: int = t.INLINE_DATA_ALIGNMENT) -> None:
        self._format = file_format
        self._rows_of: dict[type, list[_Row]] = {}
        self._inline_alignment = inline_alignment
        self._builder = flatbuffers.Builder(4096)

    def finish(self, root: object) -> memoryview:
        """The flatbuffer of `root`, with the file identifier at byte 4."""
        self._builder.Finish(self._table(root), file_identifier=self._format.identifier)
        return memoryview(self._builder.Bytes)[self._builder.Head() :]

    @property
    def alignment(self) -> int:
        """The largest alignment of any part, to which the bytes must be aligned."""
        return int(self._builder.minalign)

    def _table(self, value: object) -> int:
        builder, rows = self._builder, self._rows(type(value))
        children = [self._child(row, value) for row in rows]
        builder.StartObject(self._format.slot_count(type(value)))
        for (slot, field, kind), child in zip(rows, children, strict=True):
            if isinstance(kind, t.Scalar):
                self._scalar(value, slot, field, kind)
            elif isinstance(kind, t.Enum):
                builder.PrependInt8Slot(slot, int(getattr(value, field.name)), 0)
            elif isinstance(kind, t.Union):
                builder.PrependUint8Slot(slot, _tag(value, field, kind), 0)
                builder.PrependUOffsetTRelativeSlot(slot + 1, child, 0)
            elif child:
                builder.PrependUOffsetTRelativeSlot(slot, child, 0)
        return int(builder.EndObject())

    def _rows(self, table: type) -> list[_Row]:
        if table not in self._rows_of:
            if table not in self._format.tables:
                raise SerializationError(f"{table.__name__} is not a table of the format {self._format.identifier!r}")
            self._rows_of[table] = [(slot, field, field.kind) for slot, field in self._format.slots(table)]
        return self._rows_of[table]

    def _scalar(self, value: object, slot: int, field: t.Field, kind: t.Scalar) -> None:
        item = getattr(value, field.name)
        try:
            getattr(self._builder, _SCALAR_PREPEND[kind.code])(slot, item, kind.default)
        except (TypeError, struct.error) as error:
            raise _does_not_fit(value, field, kind.fbs, item) from error

    def _child(self, row: "_Row", value: object) -> int:
        """Return the offset of a field's value; 0 for an absent value or one that the table contains."""
        _, field, kind = row
        if isinstance(kind, (t.Scalar, t.Enum)):
            return 0
        item = getattr(value, field.name)
        if item is None:
            if field.optional:
                return 0
            raise _does_not_fit(value, field, "a value", None)
        if isinstance(kind, t.String):
            return int(self._builder.CreateString(item))
        if isinstance(kind, t.Bytes):
            alignment = max(kind.align, self._inline_alignment) if kind.align > 1 else 1
            return self._place(memoryview(item).cast("B"), len(item), 1, alignment)
        if isinstance(kind, t.Vector):
            return self._vector(value, field, kind, item)
        if isinstance(kind, t.TableVector):
            return self._offsets([self._table(child) for child in item])
        if isinstance(kind, t.Union):
            _tag(value, field, kind)  # check the type before writing the member, so that the error names this field
        return self._table(item)

    def _vector(self, value: object, field: t.Field, kind: t.Vector, items: Sequence[object]) -> int:
        code = kind.item.code
        try:
            packed = struct.pack(f"<{len(items)}{code}", *items)
        except (TypeError, struct.error) as error:
            raise _does_not_fit(value, field, f"[{kind.item.fbs}]", items) from error
        size = struct.calcsize(code)
        return self._place(packed, len(items), size, size)

    def _offsets(self, offsets: list[int]) -> int:
        builder = self._builder
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return int(builder.EndVector())

    def _place(self, packed: bytes | memoryview, count: int, item_size: int, alignment: int) -> int:
        builder = self._builder
        builder.StartVector(item_size, count, alignment)
        builder.head = builder.Head() - len(packed)
        builder.Bytes[builder.Head() : builder.Head() + len(packed)] = packed
        return int(builder.EndVector())


def _tag(value: object, field: t.Field, union: t.Union) -> int:
    member = type(getattr(value, field.name))
    if member not in union.types:
        expected = ", ".join(kind.__name__ for kind in union.types)
        raise SerializationError(
            f"{type(value).__name__}.{field.name}: expected one of {expected}; found {member.__name__}"
        )
    return union.types.index(member) + 1


def _does_not_fit(value: object, field: t.Field, expected: str, found: object) -> SerializationError:
    return SerializationError(f"{type(value).__name__}.{field.name}: expected {expected}; found {found!r}")
