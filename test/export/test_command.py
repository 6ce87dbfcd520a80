# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.export`: files, output and refusals."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from executorch.exir.serialize import deserialize_pte
from executorch.export.command import main

SCRIPT = """
import torch
from beside import WIDTH

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, 3)
        self.register_buffer("count", torch.zeros(64))

    def forward(self, x, scale=None):
        self.count.add_(1)
        y = self.linear(x) + x.sum()
        return y if scale is None else y * scale

def make():
    return Net(), (torch.randn(2, WIDTH),)

def with_kwargs():
    return Net(), (torch.randn(2, WIDTH),), {"scale": torch.ones(3)}

def with_shapes():
    shapes = ({0: torch.export.Dim("n", min=1, max=7)},)
    return {"model": Net(), "args": (torch.randn(2, WIDTH),), "dynamic_shapes": shapes}

def exported():
    return torch.export.export(Net(), (torch.randn(2, WIDTH),))

class Holder:
    make = staticmethod(make)

bare = Net
inputs = lambda: (torch.randn(4, WIDTH),)
number = 3
wrong = lambda: 3
too_many = lambda: (Net(), (), {}, None, None)
odd = lambda: {"model": Net(), "colour": "red"}

def fails():
    raise ValueError("no weights here")

class Cold(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

def branchy():
    return Cold(), (torch.randn(3),)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("WIDTH = 5\n")
    path = tmp_path / "my_script.py"
    path.write_text(SCRIPT)
    for name in ("my_script", "beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return path


def run(*arguments: str) -> int:
    return main([*arguments, "--quiet"])


def test_a_script_becomes_a_program_and_its_summary_is_printed(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{script}:make", "-o", str(tmp_path / "new" / "net.pte")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    plan = deserialize_pte((tmp_path / "new" / "net.pte").read_bytes()).program.execution_plan[0]
    assert plan.name == "forward"
    for words in ("method forward(float[2, 5]) -> (float[2, 3])", "aten::addmm.out", "arena 1", "method allocator"):
        assert words in out
    for words in ("largest tensors", "count", "state", "time: import", "plan and emit"):
        assert words in out


@pytest.mark.parametrize("name", ["make", "with_kwargs", "with_shapes", "exported", "Holder.make"])
def test_every_form_of_callable_is_understood(script: Path, tmp_path: Path, name: str) -> None:
    assert run(f"my_script:{name}", "--method", "predict") == 0
    written = tmp_path / f"{name.rpartition('.')[2]}.pte"
    plan = deserialize_pte(written.read_bytes()).program.execution_plan[0]
    assert plan.name == "predict"
    assert len(plan.inputs) == (2 if name == "with_kwargs" else 1)
    if name == "with_shapes":
        assert plan.values[plan.inputs[0]].val.sizes == [7, 5]


def test_inputs_dynamic_dimensions_and_partitioners_are_options(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    partitioner = "executorch.exir.backend.test.op_partitioner_demo:AddMulPartitionerDemo"
    options = ["--inputs", f"{script}:inputs", "--dynamic", "x:0=rows:1..9", "--partitioner", partitioner]
    assert run(f"{script}:bare", *options, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    (method,) = summary["methods"]
    assert method["delegates"][0]["backend"] == "BackendWithCompilerDemo"
    assert method["inputs"] == ["float≤[9, 5]"]
    assert summary["file_bytes"] == Path(summary["path"]).stat().st_size
    assert set(summary["seconds"]) == {"import", "export", "lower", "plan and emit", "write"}
    (arena,) = method["arenas"]
    assert 0 < arena["lower_bound_bytes"] <= arena["planned_bytes"]


def test_the_memory_plan_can_be_drawn(script: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    assert run(f"{script}:make", "--memory-plan", str(picture)) == 0
    assert "forward, arena 1" in picture.read_text()
    with pytest.raises(SystemExit):
        run(f"{script}:make", "--memory-plan", "plan.png")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["my_script"], "expected MODULE:NAME"),
        (["no_such_module:make"], "cannot import no_such_module: ModuleNotFoundError"),
        (["nothing.py:make"], "file not found: nothing.py"),
        (["my_script:nothing"], "my_script has no 'nothing'; it has: Cold, Holder"),
        (["my_script:number"], "my_script:number is a int; expected a callable"),
        (["my_script:wrong"], "returned a int; expected an nn.Module"),
        (["my_script:too_many"], "returned 5 values; expected at most model, args, kwargs, dynamic_shapes"),
        (["my_script:odd"], "returned a dict with"),
        (["my_script:bare"], "without example inputs"),
        (["my_script:fails"], "my_script:fails() failed: ValueError: no weights here"),
        (["my_script:make", "--dynamic", "x=3"], "expected INPUT:DIMENSION=NAME"),
        (["my_script:make", "--dynamic", "z:0=n"], "unknown input 'z'; expected one of x"),
        (["my_script:make", "--dynamic", "x:2=n"], "input 'x' has 2 dimensions"),
        (["my_script:make", "--dynamic", "x:0=n:5..2"], "the minimum 5 is above the maximum 2"),
        (["my_script:with_shapes", "--dynamic", "x:0=n"], "returns dynamic_shapes already"),
        (["my_script:exported", "--dynamic", "x:0=n"], "already exported"),
        (["my_script:make", "--partitioner", "my_script:Holder"], "expected a Partitioner class"),
        (["my_script:branchy"], "export: "),
    ],
)
def test_a_wrong_argument_is_one_line_and_an_exit_code(
    script: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert run(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == "" and why in err
    assert err.startswith("export: ") and "Traceback" not in err
    assert len(err.strip().splitlines()) == 2, "the error, and how to see more"


def test_logs_and_warnings_are_as_before_when_the_command_ends(script: Path, tmp_path: Path) -> None:
    disabled, filters = logging.root.manager.disable, list(warnings.filters)
    assert run(f"{script}:make", "-o", str(tmp_path / "net.pte")) == 0
    assert logging.root.manager.disable == disabled
    assert list(warnings.filters) == filters


def test_verbose_shows_where_it_happened(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("my_script:fails", "--verbose") == 1
    assert 'raise ValueError("no weights here")' in capsys.readouterr().err


def test_help_and_wrong_arguments_end_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as helped:
        main(["--help"])
    printed = capsys.readouterr().out
    assert helped.value.code == 0 and "examples:" in printed and "MODULE:CALLABLE" in printed
    with pytest.raises(SystemExit) as wrong:
        main([])
    assert wrong.value.code == 2


def test_the_module_runs_as_a_command_silent_in_a_pipe(script: Path) -> None:
    command = [sys.executable, "-m", "executorch.export", "my_script:make"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("make.pte: ")
