# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read flatbuffers by their schema file, without generated code or dependencies.

The binary format is specified at https://flatbuffers.dev/internals. The schema parser supports the subset that
program.fbs uses. Offsets are untrusted: one outside the file raises ``FlatbufferError``.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SCALARS = {
    "bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q",
    "ulong": "Q", "float": "f", "double": "d",
}  # fmt: skip
_DECLARATION = re.compile(r"\b(table|enum|union)\s+(\w+)\s*(?::\s*(\w+)\s*)?\{([^}]*)\}")
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?\w+\]?)[^;]*;")


class FlatbufferError(ValueError):
    """Bytes are not a valid flatbuffer of the schema."""


@dataclass
class FlatbufferSchema:
    """Types of a schema file. A field is (name, type, slot). A union takes two slots, first its kind."""

    tables: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    enums: dict[str, str] = field(default_factory=dict)
    unions: dict[str, list[str]] = field(default_factory=dict)


def read_schema(path: Path) -> FlatbufferSchema:
    """Parse the tables, enums and unions of a schema file."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    schema = FlatbufferSchema()
    declarations = _DECLARATION.findall(text)
    for kind, name, base, body in declarations:
        if kind == "enum":
            schema.enums[name] = base
        elif kind == "union":
            schema.unions[name] = ["NONE", *(part.strip() for part in body.split(",") if part.strip())]
    for kind, name, _, body in declarations:
        if kind == "table":
            slot, fields = 0, {}
            for field_name, field_type in _FIELD.findall(body):
                slot += field_type in schema.unions
                fields[field_name] = (field_type, slot)
                slot += 1
            schema.tables[name] = fields
    return schema


class Table:
    """A table at a position of a buffer. Fields are read on first access."""

    def __init__(self, schema: FlatbufferSchema, data: bytes, kind: str, position: int) -> None:
        self.kind = kind
        self._schema, self._data, self._position = schema, data, position
        self._vtable = position - self._read("i", position)

    def __getattr__(self, name: str) -> Any:
        """A scalar (0 or False if absent), a string, a ``Table``, a list, or None for another absent field."""
        fields = self._schema.tables[self.kind]
        if name not in fields:
            raise AttributeError(f"{self.kind} has no field {name}")
        value = self.__dict__[name] = self._field(*fields[name])
        return value

    def _field(self, field_type: str, slot: int) -> Any:
        at = self._place_of(slot)
        code = self._code(field_type)
        if code:
            return self._read(code, at) if at else self._read_zero(code)
        if not at:
            return None
        if field_type in self._schema.unions:
            return self._union(field_type, slot, at)
        return self._indirect(field_type, at)

    def _place_of(self, slot: int) -> int:
        """Position of the slot's value; 0 if absent."""
        entry = 4 + 2 * slot
        if entry >= self._read("H", self._vtable):
            return 0
        offset = self._read("H", self._vtable + entry)
        return self._position + offset if offset else 0

    def _union(self, name: str, slot: int, at: int) -> Table | None:
        kind_at = self._place_of(slot - 1)
        number = self._read("B", kind_at) if kind_at else 0
        kinds = self._schema.unions[name]
        if number >= len(kinds):
            raise FlatbufferError(f"{name} has kind {number}, expected less than {len(kinds)}")
        return Table(self._schema, self._data, kinds[number], at + self._read("I", at)) if number else None

    def _indirect(self, kind: str, at: int) -> Any:
        target = at + self._read("I", at)
        if kind == "string":
            return self._vector_bytes(target, 1).decode("utf-8", errors="replace")
        if not kind.startswith("["):
            return Table(self._schema, self._data, kind, target)
        item = kind[1:-1]
        code = self._code(item)
        width = struct.calcsize("<" + code) if code else 4
        raw = self._vector_bytes(target, width)
        if code:
            return [value for (value,) in struct.iter_unpack("<" + code, raw)]
        starts = range(target + 4, target + 4 + len(raw), width)
        return [self._indirect(item, start) for start in starts]

    def _vector_bytes(self, at: int, width: int) -> bytes:
        end = at + 4 + self._read("I", at) * width
        if end > len(self._data):
            raise FlatbufferError(f"vector at byte {at}: expected an end within {len(self._data)} bytes, found {end}")
        return self._data[at + 4 : end]

    def _code(self, kind: str) -> str | None:
        return _SCALARS.get(self._schema.enums.get(kind, kind))

    def _read(self, code: str, at: int) -> Any:
        try:
            if at < 0:
                raise self._outside(at)
            return struct.unpack_from("<" + code, self._data, at)[0]
        except struct.error as e:
            raise self._outside(at) from e

    def _outside(self, at: int) -> FlatbufferError:
        return FlatbufferError(f"expected an offset to one of {len(self._data)} bytes, found byte {at}")

    @staticmethod
    def _read_zero(code: str) -> Any:
        return struct.unpack("<" + code, bytes(struct.calcsize("<" + code)))[0]


def root(schema: FlatbufferSchema, data: bytes, kind: str) -> Table:
    """Return the root table of a buffer. Raises ``FlatbufferError`` for other bytes."""
    if len(data) < 8:
        raise FlatbufferError(f"expected a flatbuffer, found {len(data)} bytes")
    return Table(schema, data, kind, struct.unpack_from("<I", data)[0])
