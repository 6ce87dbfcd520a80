# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented command lines of code generation."""

from pathlib import Path

import pytest
import yaml

from executorch.codegen.selection import Selection
from executorch.codegen.tools import gen_oplist, merge_yaml


def test_a_list_of_operators_becomes_a_selection(tmp_path: Path) -> None:
    file = tmp_path / "selected_operators.yaml"
    assert gen_oplist.main(["--output_path", str(file), "--root_ops", "aten::add.out,aten::mul.out"]) == 0
    assert sorted(Selection.load(file).operators) == ["aten::add.out", "aten::mul.out"]


def test_a_missing_program_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = str(tmp_path / "absent.pte")
    assert gen_oplist.main(["--output_path", str(tmp_path / "out.yaml"), "--model_file_path", absent]) == 1
    assert "absent.pte" in capsys.readouterr().err


def test_entries_of_the_first_table_precede_those_of_the_fallback(tmp_path: Path) -> None:
    first, second = tmp_path / "functions.yaml", tmp_path / "fallback.yaml"
    first.write_text("- op: add.out\n  kernels: [{arg_meta: null, kernel_name: mine}]\n")
    second.write_text("- func: aten::add.out(Tensor self) -> Tensor\n- func: my::mul.out(Tensor self) -> Tensor\n")
    arguments = [
        "--functions_yaml_path",
        str(first),
        "--fallback_yaml_path",
        str(second),
        "--output_dir",
        str(tmp_path),
    ]
    assert merge_yaml.main(arguments) == 0
    merged = yaml.safe_load((tmp_path / "merged.yaml").read_text())
    assert merged == [*yaml.safe_load(first.read_text()), {"func": "my::mul.out(Tensor self) -> Tensor"}]


def test_a_table_without_operators_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "functions.yaml"
    table.write_text("- kernels: []\n")
    assert merge_yaml.main(["--functions_yaml_path", str(table), "--output_dir", str(tmp_path)]) == 1
    assert "expected entries with 'op' or 'func'" in capsys.readouterr().err
