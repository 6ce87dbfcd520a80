# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A selective build compiles the sources that its operators need, by a table that agrees with the built libraries."""

import json
from pathlib import Path

import pytest
from oracle.kernels.tables.kernel_source_table import newest_build, source_table

from executorch.codegen import kernel_sources as module
from executorch.codegen import select_operators
from executorch.codegen.kernel_sources import FOLDERS, KERNELS, TABLE, kernel_sources


def _all_sources() -> list[str]:
    return sorted(path.relative_to(KERNELS).as_posix() for name in FOLDERS for path in (KERNELS / name).rglob("*.cpp"))


def test_the_table_has_all_that_sources_refer_to() -> None:
    """If this fails, run test/oracle/kernels/write_tables.py. Missing entries only cost build time."""
    table, built = json.loads(TABLE.read_text()), source_table(newest_build())
    known = table["kernels"]
    assert {name for name, source in built["kernels"].items() if known.get(name, source) != source} == set()
    assert table["needs"].keys() == built["needs"].keys()
    for source, needs in built["needs"].items():
        reached = {source}
        while more := {one for source in reached for one in table["needs"][source]} - reached:
            reached |= more
        assert set(needs) <= reached, source


def test_an_operator_needs_few_sources() -> None:
    sources = kernel_sources(select_operators(["aten::add.out"]))
    assert "portable/pointwise/binary.cpp" in sources and "loops/elementwise/elementwise.cpp" in sources
    assert len(sources) < 12 and not [source for source in sources if source.startswith("quantized/")]


def test_all_operators_need_all_sources_of_kernels() -> None:
    sources = kernel_sources(select_operators(include_all=True))
    assert set(_all_sources()) - set(sources) <= {"quantized/int8/integer_loops_avx2.cpp"}


def test_a_table_of_other_sources_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = json.loads(TABLE.read_text())
    del table["needs"]["portable/pool/forward.cpp"]
    monkeypatch.setattr(module, "TABLE", tmp_path / "sources.json")
    module.TABLE.write_text(json.dumps(table))
    assert kernel_sources(select_operators(["aten::add.out"])) == _all_sources()
