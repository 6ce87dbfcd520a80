# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every command ends alike: 0, or 1 after one message that begins with its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import executorch.devtools.__main__ as devtools
from executorch.codegen.tools import gen_oplist, merge_yaml
from executorch.devtools.inspector import inspector_cli
from executorch.devtools.pte_tool.diff_pte import main as diff_pte
from executorch.devtools.scripts import generate_profiling_csv
from executorch.devtools.size_analysis_tool import size_analysis_tool
from executorch.examples.models.llama import convert_weights
from executorch.export import command as export
from executorch.test.house.layers import PACKAGES
from executorch.util.exit_code import exit_code

ROOT = Path(__file__).resolve().parents[2]


def _raise(error: BaseException) -> int:
    raise error


def test_a_command_that_returns_nothing_succeeds() -> None:
    assert exit_code("copy", lambda: None) == 0


def test_a_command_may_return_its_own_code() -> None:
    assert exit_code("compare", lambda: 1) == 1


def test_invalid_input_is_one_line_with_the_name_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("copy", lambda: _raise(ValueError("expected a file"))) == 1
    assert capsys.readouterr() == ("", "copy: expected a file\n")


def test_the_caller_chooses_errors_and_their_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("copy", lambda: _raise(KeyError("x")), (KeyError,), lambda error: f"no {error.args[0]}") == 1
    assert capsys.readouterr().err == "copy: no x\n"


def test_a_defect_of_the_command_passes() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code("copy", lambda: 1 // 0)


def test_an_interruption_has_the_code_of_its_signal(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("copy", lambda: _raise(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("name", "main", "arguments"),
    [
        ("convert_weights", convert_weights.main, ["MISSING", "weights.pth"]),
        ("diff_pte", diff_pte, ["MISSING", "MISSING"]),
        ("export", export.main, ["MISSING.py:make"]),
        ("gen_oplist", gen_oplist.main, ["--output_path", "ops.yaml", "--model_file_path", "MISSING"]),
        ("generate_profiling_csv", generate_profiling_csv.main, ["--etdump_path", "MISSING"]),
        ("inspector_cli", inspector_cli.main, ["--etdump_path", "MISSING"]),
        ("merge_yaml", merge_yaml.main, ["--functions_yaml_path", "MISSING", "--output_dir", "."]),
        ("profile", devtools.main, ["profile", "MISSING"]),
        ("size", devtools.main, ["size", "MISSING"]),
        ("size_analysis_tool", size_analysis_tool.main, ["--etrecord_path", "MISSING"]),
    ],
)
def test_each_command_reports_a_missing_file(
    name: str,
    main: Callable[[list[str]], int],
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([argument.replace("MISSING", str(tmp_path / "missing")) for argument in arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{name}: ") and "missing" in error and "Traceback" not in error


def test_every_command_of_the_packages_ends_by_the_function() -> None:
    sources = {path: path.read_text() for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
    commands = [path for path, text in sources.items() if "\ndef main(" in text and "ArgumentParser(" in text]
    assert len(commands) > 10
    assert not [str(path.relative_to(ROOT)) for path in commands if "exit_code(" not in sources[path]]
