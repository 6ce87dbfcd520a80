# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Two kernel libraries' yaml merge into one, whose kernels keep their functions."""

from pathlib import Path

import pytest

from executorch.codegen.__main__ import main
from executorch.codegen.binding import PORTABLE_YAML, portable_rows
from executorch.codegen.library_yaml import operator_names, read_library

OPTIMIZED_YAML = PORTABLE_YAML.parents[1] / "optimized" / "functions.yaml"


def _merge(functions: Path, fallback: Path, output: Path) -> int:
    return main(
        ["merge", "--functions-yaml", str(functions), "--fallback-yaml", str(fallback), "--output", str(output)]
    )


def test_kernels_of_the_first_library_replace_those_of_the_second(tmp_path: Path) -> None:
    merged = tmp_path / "new" / "merged.yaml"
    assert _merge(OPTIMIZED_YAML, PORTABLE_YAML, merged) == 0
    functions = {row.schema.qualified_name: row.function for row in read_library(merged, None, {})}
    assert functions.keys() == {*operator_names(OPTIMIZED_YAML), *operator_names(PORTABLE_YAML)}
    assert functions["aten::mm.out"] == "executorch::kernels::optimized::mm_out"
    assert functions["aten::cumsum.out"] == portable_rows()["aten::cumsum.out"].function


def test_kernels_of_a_users_library_keep_their_names(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "- op: add.out\n  kernels:\n    - {arg_meta: null, kernel_name: fast_add}\n"
        "- func: my::twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n"
    )
    merged = tmp_path / "merged.yaml"
    assert _merge(own, PORTABLE_YAML, merged) == 0
    expected = {r.schema.qualified_name: r.function for r in read_library(own, None, portable_rows())}
    found = {r.schema.qualified_name: r.function for r in read_library(merged, None, portable_rows())}
    assert {name: found[name] for name in expected} == expected


def test_an_error_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- op: no_such.out\n")
    assert _merge(own, PORTABLE_YAML, tmp_path / "merged.yaml") == 1
    assert f"{own}:1: operator aten::no_such.out is not in the portable library" in capsys.readouterr().err
