# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The writer of flatbuffers: its bytes are those of Google's `flatbuffers` package."""

from __future__ import annotations

import random
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import pytest

from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.payload import XNN_GRAPH
from executorch.exir import schema as s
from executorch.exir.serialize import SerializationError
from executorch.exir.serialize import tables as t
from executorch.exir.serialize.writer import FlatbufferWriter

_SLOT_OF_CODE = {"?": "Bool", "b": "Int8", "B": "Uint8", "h": "Int16", "H": "Uint16", "i": "Int32", "I": "Uint32"}
_SLOT_OF_CODE |= {"q": "Int64", "Q": "Uint64", "f": "Float32", "d": "Float64"}


class _Reference:
    """Writes a value with the package's builder, scalar by scalar."""

    def __init__(self, file_format: t.Format) -> None:
        self.format = file_format
        self.builder = flatbuffers.Builder(16)

    def bytes(self, root: object) -> bytes:
        self.builder.Finish(self.table(root), file_identifier=self.format.identifier)
        return bytes(self.builder.Output())

    def table(self, value: object) -> int:
        slots = self.format.slots(type(value))
        children = [self.child(field.kind, getattr(value, field.name)) for _, field in slots]
        self.builder.StartObject(self.format.slot_count(type(value)))
        for (slot, field), child in zip(slots, children, strict=True):
            kind, item = field.kind, getattr(value, field.name)
            if isinstance(kind, t.Scalar):
                getattr(self.builder, f"Prepend{_SLOT_OF_CODE[kind.code]}Slot")(slot, item, kind.default)
            elif isinstance(kind, t.Enum):
                self.builder.PrependInt8Slot(slot, int(item), 0)
            else:
                if isinstance(kind, t.Union):
                    self.builder.PrependUint8Slot(slot, kind.types.index(type(item)) + 1, 0)
                    slot += 1
                self.builder.PrependUOffsetTRelativeSlot(slot, child, 0)
        return int(self.builder.EndObject())

    def child(self, kind: t.Kind, item: Any) -> int:
        if item is None or isinstance(kind, (t.Scalar, t.Enum)):
            return 0
        if isinstance(kind, t.String):
            return int(self.builder.CreateString(item))
        if isinstance(kind, t.Bytes):
            self.builder.StartVector(1, len(item), max(kind.align, t.INLINE_DATA_ALIGNMENT) if kind.align > 1 else 1)
            for byte in reversed(item):
                self.builder.PrependByte(byte)
            return int(self.builder.EndVector())
        if isinstance(kind, t.Vector):
            name = _SLOT_OF_CODE[kind.item.code]
            size = {"8": 1, "6": 2, "2": 4, "4": 8, "l": 1}[name[-1]]
            self.builder.StartVector(size, len(item), size)
            for number in reversed(item):
                getattr(self.builder, f"Prepend{name}")(number)
            return int(self.builder.EndVector())
        if isinstance(kind, t.TableVector):
            offsets = [self.table(one) for one in item]
            self.builder.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                self.builder.PrependUOffsetTRelative(offset)
            return int(self.builder.EndVector())
        return self.table(item)


class _Values:
    """Random values of a format's tables."""

    def __init__(self, file_format: t.Format, seed: int) -> None:
        self.format, self.random = file_format, random.Random(seed)

    def table(self, kind: type) -> object:
        value = kind.__new__(kind)
        for field in self.format.tables[kind]:
            is_absent = field.optional and self.random.random() < 0.4
            object.__setattr__(value, field.name, None if is_absent else self.item(field.kind))
        return value

    def item(self, kind: t.Kind) -> Any:
        count = self.random.randrange(4)
        if isinstance(kind, t.Table):
            return self.table(kind.type)
        if isinstance(kind, t.TableVector):
            return [self.table(kind.type) for _ in range(count)]
        if isinstance(kind, t.Union):
            return self.table(self.random.choice(kind.types))
        if isinstance(kind, t.String):
            return "é" * count
        if isinstance(kind, t.Bytes):
            return bytes(range(5 * count))
        if isinstance(kind, t.Enum):
            return self.random.choice(list(kind.type))
        if isinstance(kind, t.Vector):
            return [self.item(kind.item) for _ in range(count)]
        return self.random.choice({"?": (False, True), "f": (0.0, -1.5), "d": (0.0, 1e300)}.get(kind.code, (0, 1, 101)))


@pytest.mark.parametrize("file_format, root", [(t.PROGRAM, s.Program), (XNN_GRAPH, g.XNNGraph)])
@pytest.mark.parametrize("seed", range(30))
def test_bytes_are_those_of_the_flatbuffers_package(file_format: t.Format, root: type, seed: int) -> None:
    value = _Values(file_format, seed).table(root)
    reference, writer = _Reference(file_format), FlatbufferWriter(file_format)
    assert bytes(writer.finish(value)) == reference.bytes(value)
    assert writer.alignment == reference.builder.minalign


@pytest.mark.parametrize(
    "value, names",
    [
        (s.Int(2**63), "Int.int_val: expected long; found 9223372036854775808"),
        (s.Int(1.5), "Int.int_val: expected long; found 1.5"),  # type: ignore[arg-type]
        (s.Bool(2), "Bool.bool_val: expected bool; found 2"),  # type: ignore[arg-type]
        (s.String(3), "String.string_val: expected text; found 3"),  # type: ignore[arg-type]
        (s.IntList(["x"]), "IntList.items: expected .long.; found .'x'."),  # type: ignore[list-item]
    ],
)
def test_a_value_that_its_field_cannot_hold_is_refused_by_name(value: Any, names: str) -> None:
    with pytest.raises(SerializationError, match=names):
        FlatbufferWriter(t.PROGRAM).finish(s.EValue(value))
