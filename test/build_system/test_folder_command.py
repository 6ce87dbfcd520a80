# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python test/folder.py` finds the tests of a folder; the hooks of commits are the linters of CI."""

import sys
from pathlib import Path

import folder
import pytest
import yaml

ROOT = folder.ROOT
PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", "2"]


def test_a_python_folder_and_its_mirror_run_the_same_tests() -> None:
    expected = [[*PYTEST, "test/exir/memory", "-x"]]
    assert list(folder.commands(ROOT / "exir/memory", ["-x"])) == expected
    assert list(folder.commands(ROOT / "test/exir/memory", ["-x"])) == expected


def test_a_folder_without_tests_has_those_of_the_nearest_folder_above() -> None:
    assert list(folder.commands(ROOT / "exir/backend/canonical_partitioners")) == [[*PYTEST, "test/exir/backend"]]


def test_a_cpp_folder_builds_and_runs_its_programs_then_its_python_tests_with_new_bindings() -> None:
    build, run, *rest = folder.commands(ROOT / "runtime/kernel")
    assert build == ["cmake", "--build", "build/editable", "--parallel", "2", "--target", "runtime_kernel_test"]
    assert run == ["build/editable/test/runtime_kernel_test", "--gtest_brief=1"]
    install = ["cmake", "--install", "build/editable", "--prefix", ".", "--component", "python"]
    assert rest == [[*build[:6], "python_tests"], install, [*PYTEST, "test/runtime"]]


def test_programs_below_a_folder_are_built_too() -> None:
    assert {"runtime_core_test", "runtime_platform_test"} <= set(folder.cpp_test_programs(Path("test/runtime")))


def test_the_folders_of_one_program_name_that_program() -> None:
    assert folder.cpp_test_programs(Path("test/runtime/executor/verify")) == ["runtime_executor_test"]
    assert folder.cpp_test_programs(Path("test/runtime/executor")) == ["runtime_executor_test"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (ROOT, "run.sh` runs all tests"),
        (ROOT / "test", "run.sh` runs all tests"),
        (ROOT / "exir/tensor.py", "expected a folder, found exir/tensor.py"),
        (ROOT / "missing", "expected a folder, found missing"),
        (Path("/"), "expected a folder of"),
        (ROOT / "data", "expected tests in test/data"),
    ],
)
def test_unknown_folders_are_refused(path: Path, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        folder.main([str(path)])
    assert stopped.value.code == 2 and expected in capsys.readouterr().err


def test_the_commands_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.main(["--print", str(ROOT / "exir/emit"), "-k", "values"]) == 0
    assert capsys.readouterr().out.endswith("-m pytest -q -n 2 test/exir/emit -k values\n")


def test_a_failing_command_ends_the_run_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [[sys.executable, "-c", "raise SystemExit(3)"], [sys.executable, "-c", "raise SystemExit(4)"]]
    monkeypatch.setattr(folder, "commands", lambda *_: iter(failing))
    assert folder.main([str(ROOT / "exir")]) == 3


def test_commits_are_checked_by_the_linters_of_ci() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    script = (ROOT / "test/run.sh").read_text()
    linters = {hook["entry"] for hook in hooks if "pytest" not in hook["entry"]}
    assert len(linters) == 5 and all(entry in script for entry in linters)
