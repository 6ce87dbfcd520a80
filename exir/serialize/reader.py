# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read flatbuffers by the description of a format (`tables.py`). Every read is checked: any bytes are safe."""

import struct
from collections.abc import Callable
from typing import TypeVar

from executorch.exir.schema import BytesLike
from executorch.exir.serialize import tables as t
from executorch.exir.serialize.errors import MalformedProgramError

_T = TypeVar("_T")
_BYTES_PER_FIELD = 8
"""Share of a field in the budget of reads: a table, which takes a few bytes of a file, becomes a Python object."""
_EMPTY: dict[type, object] = {t.String: "", t.Bytes: b""}


class FlatbufferReader:
    """Reads tables of `data`. Offsets count from its first byte. Bytes fields are copied.

    A valid file contains each part once, so the total size of reads is limited by a budget in terms of the file's size.
    It stops small files whose offsets refer to the same large part many times.
    """

    def __init__(self, data: BytesLike, file_format: t.Format) -> None:
        self._format = file_format
        self._data = memoryview(data).cast("B")
        self._budget = 16 * len(self._data)

    def root(self, table: type[_T]) -> _T:
        """The table that the first four bytes point to. Raises MalformedProgramError."""
        if len(self._data) < 8:
            raise MalformedProgramError(f"a file has at least 8 bytes; found {len(self._data)}")
        identifier = bytes(self._data[4:8])
        expected = self._format.identifier
        if identifier != expected:
            raise MalformedProgramError(f"byte 4: expected the identifier {expected!r}; found {identifier!r}")
        return self.table_at(table, self._follow(0))

    def table_at(self, table: type[_T], at: int) -> _T:
        """The table at a position. Raises MalformedProgramError."""
        return self._table(table, at)

    def _number(self, code: str, at: int) -> int | float | bool:
        try:
            if at < 0:
                raise struct.error("negative position")
            number: int | float | bool = struct.unpack_from("<" + code, self._data, at)[0]
            return number
        except struct.error as error:
            raise MalformedProgramError(f"byte {at}: outside of the file's {len(self._data)} bytes") from error

    def _follow(self, at: int) -> int:
        return at + int(self._number("I", at))

    def _spend(self, amount: int, at: int) -> None:
        self._budget -= amount
        if self._budget < 0:
            raise MalformedProgramError(f"byte {at}: the file refers to more than it can hold")

    def _table(self, table: type[_T], at: int) -> _T:
        vtable = at - int(self._number("i", at))
        vtable_size = int(self._number("H", vtable))
        slots = self._format.slots(table)
        self._spend(4 + _BYTES_PER_FIELD * len(slots), at)  # an absent field takes time and memory, too
        values = {}
        for slot, field in slots:
            entry = 4 + 2 * slot
            offset = int(self._number("H", vtable + entry)) if entry + 2 <= vtable_size else 0
            if isinstance(field.kind, t.Union):
                tag = int(self._number("B", at + offset)) if offset else 0
                entry += 2
                offset = int(self._number("H", vtable + entry)) if entry + 2 <= vtable_size else 0
                values[field.name] = self._union(table, field, field.kind, tag, at, offset)
            elif offset:
                values[field.name] = self._READ[type(field.kind)](self, field.kind, at + offset)
            else:
                values[field.name] = self._absent(table, field, at)
        return table(**values)

    def _absent(self, table: type, field: t.Field, at: int) -> object:
        kind = field.kind
        if field.optional:
            return None
        if isinstance(kind, t.Scalar):
            return kind.default
        if isinstance(kind, t.Enum):
            return kind.type(0)
        if isinstance(kind, (t.Vector, t.TableVector)):
            return []
        if type(kind) in _EMPTY:
            return _EMPTY[type(kind)]
        if isinstance(kind, t.Table) and field.name in _MAY_BE_ABSENT:
            return self._default(kind.type)
        raise MalformedProgramError(f"byte {at}: {table.__name__}.{field.name} is missing")

    def _default(self, table: type) -> object:
        """The value of a table with no field set."""
        return table(**{f.name: _BLANK[type(f.kind)](f.kind) for f in self._format.tables[table]})

    def _union(self, table: type, field: t.Field, kind: t.Union, tag: int, at: int, offset: int) -> object:
        if not 1 <= tag <= len(kind.types) or not offset:
            raise MalformedProgramError(
                f"byte {at}: {table.__name__}.{field.name}: expected a tag from 1 to {len(kind.types)}; found {tag}"
            )
        return self._table(kind.types[tag - 1], self._follow(at + offset))

    def _scalar(self, kind: t.Scalar, at: int) -> object:
        return self._number(kind.code, at)

    def _enum(self, kind: t.Enum, at: int) -> object:
        number = int(self._number("b", at))
        try:
            return kind.type(number)
        except ValueError as error:
            raise MalformedProgramError(f"byte {at}: {number} is not a value of {kind.type.__name__}") from error

    def _extent(self, at: int, item_size: int) -> tuple[int, int]:
        """Start and number of items of the vector that the offset at `at` points to."""
        start = self._follow(at)
        count = int(self._number("I", start))
        if start + 4 + count * item_size > len(self._data):
            raise MalformedProgramError(
                f"byte {start}: a vector of {count} items of {item_size} bytes ends outside of the file"
            )
        self._spend(4 + count * item_size, start)
        return start + 4, count

    def _bytes(self, kind: t.Bytes, at: int) -> bytes:
        start, count = self._extent(at, 1)
        return bytes(self._data[start : start + count])

    def _string(self, kind: t.String, at: int) -> str:
        start, count = self._extent(at, 1)
        try:
            return bytes(self._data[start : start + count]).decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedProgramError(f"byte {start}: a string is not UTF-8: {error.reason}") from error

    def _vector(self, kind: t.Vector, at: int) -> list[object]:
        start, count = self._extent(at, struct.calcsize(kind.item.code))
        if kind.most is not None and count > kind.most:
            raise MalformedProgramError(f"byte {start - 4}: expected at most {kind.most} items; found {count}")
        return list(struct.unpack_from(f"<{count}{kind.item.code}", self._data, start))

    def _sub_table(self, kind: t.Table, at: int) -> object:
        return self._table(kind.type, self._follow(at))

    def _table_vector(self, kind: t.TableVector, at: int) -> list[object]:
        start, count = self._extent(at, 4)
        return [self._table(kind.type, self._follow(start + 4 * i)) for i in range(count)]

    _READ: dict[type, Callable[..., object]] = {
        t.Scalar: _scalar,
        t.Enum: _enum,
        t.String: _string,
        t.Bytes: _bytes,
        t.Vector: _vector,
        t.Table: _sub_table,
        t.TableVector: _table_vector,
    }


# Required tables that some writers omit.
_MAY_BE_ABSENT = {"constant_segment", "container_meta_type"}


_BLANK: dict[type, Callable[..., object]] = {
    t.Scalar: lambda kind: kind.default,
    t.String: lambda kind: "",
    t.Vector: lambda kind: [],
}
