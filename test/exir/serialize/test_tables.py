# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The description that writer and reader follow is the schema file's."""

import dataclasses
import re
from enum import IntEnum
from pathlib import Path

import pytest

from executorch.exir import schema as s
from executorch.exir.serialize import tables as t
from executorch.exir.serialize.flat_tensor import FLAT_TENSOR

ROOT = Path(__file__).parents[3]


def text_of(path: str) -> str:
    """A schema file without its comments."""
    return re.sub(r"//[^\n]*", "", (ROOT / path).read_text())


TEXT = text_of("runtime/schema/program.fbs")
FLAT_TENSOR_TEXT = text_of("extension/flat_tensor/serialize/flat_tensor.fbs")
FORMATS = {TEXT: t.PROGRAM, FLAT_TENSOR_TEXT: FLAT_TENSOR}
TABLES = [
    pytest.param(text, rows, table, id=f"{rows.identifier.decode()}-{table.__name__}")
    for text, rows in FORMATS.items()
    for table in rows.tables
]
# Names of one type in the schema language.
ALIASES = {"int8": "byte", "uint8": "ubyte", "int32": "int", "uint32": "uint", "int64": "long", "ulong": "uint64"}
ALIASES |= {"float64": "double"}


def declared_fields(text: str, table: str) -> list[tuple[str, str]]:
    """(name, type) of each field of a table in the schema file."""
    match = re.search(rf"\btable\s+{table}\s*\{{(.*?)\}}", text, re.S)
    assert match, f"{table} is not in the schema file"
    rows = re.findall(r"(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*\w+)?\s*(?:\([^)]*\))?\s*;", match[1])
    assert len(rows) == match[1].count(";")
    return rows


def normal(name: str) -> str:
    inner = name.strip("[]")
    inner = ALIASES.get(inner, inner)
    return f"[{inner}]" if name.startswith("[") else inner


def type_name(kind: t.Kind) -> str:
    if isinstance(kind, t.Scalar):
        return kind.fbs
    if isinstance(kind, t.Vector):
        return f"[{kind.item.fbs}]"
    if isinstance(kind, t.TableVector):
        return f"[{kind.type.__name__}]"
    if isinstance(kind, (t.Table, t.Enum)):
        return kind.type.__name__
    return kind.name if isinstance(kind, t.Union) else {t.String: "string", t.Bytes: "[ubyte]"}[type(kind)]


@pytest.mark.parametrize(("text", "rows", "table"), TABLES)
def test_fields_have_the_schemas_order_and_types(text: str, rows: t.Format, table: type) -> None:
    ours = [(field.name, type_name(field.kind)) for field in rows.tables[table]]
    assert [(name, normal(kind)) for name, kind in declared_fields(text, table.__name__)] == ours


@pytest.mark.parametrize(("text", "rows", "table"), TABLES)
def test_every_field_of_a_value_is_written(text: str, rows: t.Format, table: type) -> None:
    assert {field.name for field in dataclasses.fields(table)} == {field.name for field in rows.tables[table]}


@pytest.mark.parametrize(("text", "rows"), FORMATS.items(), ids=["program", "flat_tensor"])
def test_no_table_of_the_schema_is_missing(text: str, rows: t.Format) -> None:
    assert set(re.findall(r"\btable\s+(\w+)", text)) == {table.__name__ for table in rows.tables}
    assert f'file_identifier "{rows.identifier.decode()}";' in text


def test_unions_have_the_schemas_members_in_order() -> None:
    unions = {
        f.kind.name: f.kind.types for rows in t.PROGRAM.tables.values() for f in rows if isinstance(f.kind, t.Union)
    }
    declared = dict(re.findall(r"\bunion\s+(\w+)\s*\{(.*?)\}", TEXT, re.S))
    assert set(unions) == set(declared)
    for name, members in declared.items():
        assert re.findall(r"\w+", members) == [member.__name__ for member in unions[name]]


ENUMS = [s.ScalarType, s.TensorShapeDynamism, s.TensorDataLocation, s.DeviceType, s.DataLocation]


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_enums_have_the_schemas_numbers(enum: type[IntEnum]) -> None:
    match = re.search(rf"\benum\s+{enum.__name__}\s*:\s*byte\s*\{{(.*?)\}}", TEXT, re.S)
    assert match
    declared = {name.upper(): int(number) for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", match[1])}
    ours = {member.name.upper(): member.value for member in enum if not member.name.startswith("COMPLEX")}
    assert declared == ours
