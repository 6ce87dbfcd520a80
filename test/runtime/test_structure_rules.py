# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The structure checks of flatbuffers cover each field of their schemas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
XNNPACK = "backends/xnnpack/runtime/payload"


@pytest.mark.parametrize(
    ("schema", "rules"),
    [
        ("runtime/schema/program.fbs", ["runtime/executor/verify/program_structure.cpp"]),
        ("extension/flat_tensor/serialize/flat_tensor.fbs", ["extension/flat_tensor/flat_tensor_data_map.cpp"]),
        ("devtools/bundled_program/schema/bundled_program_schema.fbs", ["devtools/bundled_program/bundle.cpp"]),
        (
            "backends/xnnpack/serialization/xnnpack_graph.fbs",
            [f"{XNNPACK}/payload_structure.cpp", f"{XNNPACK}/node_table.h"],
        ),
    ],
)
def test_each_field_of_each_table_has_a_rule(schema: str, rules: list[str]) -> None:
    known = set(re.findall(r"fb::(\w+::VT_\w+)", "".join((ROOT / path).read_text() for path in rules)))
    text = re.sub(r"//.*", "", (ROOT / schema).read_text())
    fields = [
        f"{table}::VT_{name.upper()}"
        for table, body in re.findall(r"table\s+(\w+)\s*{([^}]*)}", text)
        for name, kind in re.findall(r"(\w+)\s*:([^;]*);", body)
        if not name.startswith("deprecated_")  # nothing reads those
    ]
    assert len(fields) > 9
    assert [field for field in fields if field not in known] == []
