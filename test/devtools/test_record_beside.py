# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The commands find the record that `python -m executorch.export --etrecord` writes, and name modules and lines."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from executorch.devtools.__main__ import main
from executorch.export.command import main as export_main
from executorch.export.record_file import record_path

SCRIPT = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return self.second(hidden)

def make():
    return Net(), (torch.randn(2, 8),)
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with portable.pte and delegated.pte, each with its record."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "script_of_record.py").write_text(SCRIPT)
    for backend, name in (("portable", "portable"), ("xnnpack", "delegated")):
        sys.modules.pop("script_of_record", None)
        options = ["--backend", backend, "--etrecord", "-o", str(folder / f"{name}.pte"), "--quiet"]
        assert export_main([f"{folder / 'script_of_record.py'}:make", *options]) == 0
    return folder


def profiled(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["profile", *arguments, "--runs", "2"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", ["portable", "delegated"])
def test_profile_finds_the_record_beside_the_program(
    exported: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = exported / f"{name}.pte"
    assert record_path(program).is_file()
    steps: list[dict[str, Any]] = json.loads(profiled(capsys, str(program), "--json"))["steps"]
    sources = [source for step in steps for source in step["sources"]]
    assert {"first", "second"} <= {source["module"] for source in sources}
    lines = {re.sub(r".*/", "", source["line"]) for source in sources}
    assert "script_of_record.py:10, in forward" in lines and "script_of_record.py:11, in forward" in lines
    by_line = profiled(capsys, str(program), "--by", "line")
    assert "script_of_record.py:11, in forward" in by_line


def test_profile_takes_the_record_by_option(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, record = tmp_path / "moved.pte", tmp_path / "kept.bin"
    shutil.copy(exported / "delegated.pte", program)
    shutil.copy(exported / "delegated.etrecord", record)
    unknown = profiled(capsys, str(program), "--by", "module")
    assert " 0.0 % of it attributed" in unknown and "second" not in unknown
    for option in ("--etrecord", "--record"):
        assert "\nsecond " in profiled(capsys, str(program), "--by", "module", option, str(record))


def test_report_and_graph_find_the_record_as_well(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = tmp_path / "graph.json"
    alone = tmp_path / "delegated.pte"
    shutil.copy(exported / "delegated.pte", alone)
    counts = []
    for program in (exported / "delegated.pte", alone):
        assert main(["graph", str(program), "-o", str(graph)]) == 0
        counts.append("aten.linear" in graph.read_text())
    assert counts == [True, False]
    page = tmp_path / "page.html"
    assert main(["report", str(exported / "delegated.pte"), "--runs", "2", "-o", str(page)]) == 0
    assert "aten.linear" in page.read_text()


@pytest.mark.parametrize(
    ("program", "record", "says"),
    [
        ("delegated", "portable", r"expected delegate calls at instructions \[\]; the method 'forward' has them at"),
        ("portable", "delegated", r"expected delegate calls at instructions \[0\]"),
    ],
)
def test_a_record_of_another_program_is_refused_by_path(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, record: str, says: str
) -> None:
    shutil.copy(exported / f"{program}.pte", tmp_path / "net.pte")
    shutil.copy(exported / f"{record}.etrecord", tmp_path / "net.etrecord")
    assert main(["profile", str(tmp_path / "net.pte")]) == 1
    printed = capsys.readouterr().err
    assert re.search(rf"net\.etrecord: the record belongs to another program: {says}", printed), printed
    assert main(["profile", str(tmp_path / "net.pte"), "--etrecord", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err


def test_a_record_of_a_longer_program_is_refused(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--etrecord", "-o", str(tmp_path / "short.pte"), "--quiet"]
    assert export_main(["add", *options]) == 0
    capsys.readouterr()
    record = str(exported / "portable.etrecord")
    assert main(["profile", str(tmp_path / "short.pte"), "--etrecord", record]) == 1
    assert "expected calls at instructions" in capsys.readouterr().err
