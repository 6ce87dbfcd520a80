# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""executor_runner --bundled."""

import subprocess
from pathlib import Path

import pytest
import torch
from bundles import RIGHT, X, bundle, wrong

from executorch.devtools.bundled_program.config import MethodTestCase
from executorch.devtools.etdump.trace import read_trace
from executorch.exir import ExecutorchBackendConfig
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.executor_runner import command


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bundled") / "softplus.bpte"
    file.write_bytes(bundle(MethodTestCase((X,), RIGHT), MethodTestCase((X,), wrong()), MethodTestCase((X,))))
    return file


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command.BINARY, *arguments], capture_output=True, text=True, check=False)


def test_every_case_is_run_and_a_failure_is_the_exit_status(path: Path) -> None:
    done = run("--bundled", "--model_path", path, "--atol", "1e-6")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[1].startswith("forward, case 0: passed: 24 numbers; largest error")
    assert lines[2].startswith("forward, case 1: FAILED: 1 of 24 numbers beyond 1e-06 + 1e-05 * |expected|; largest ")
    assert lines[3] == "forward, case 2: ran: no expected outputs"
    assert lines[4] == "3 test cases: 1 passed, 1 failed, 1 without expected outputs"


def test_with_tolerances_that_allow_it_all_pass(path: Path, tmp_path: Path) -> None:
    done = run("--bundled", path, "--rtol=0", "--atol=1e-2", "--etdump_path", tmp_path / "trace")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 passed, 0 failed" in done.stdout
    runs = read_trace((tmp_path / "trace").read_bytes()).runs
    assert [run.bundled_input_index for run in runs if run.name == "Execute"] == [0, 1, 2]


def test_a_bundled_program_is_recognised_and_compared_with_the_documented_tolerance(path: Path) -> None:
    assert "2 passed, 0 failed" in run("--model_path", path).stdout
    done = run("--model_path", path, "--bundleio_rtol", "0", "--bundleio_atol=1e-6")
    assert done.returncode == 1
    assert "FAILED: 1 of 24 numbers beyond 1e-06 + 0 * |expected|" in done.stdout


def test_a_method_in_many_suites_is_loaded_once(tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(bundle(MethodTestCase((X,), RIGHT), suites=3))
    done = run("--bundled", tmp_path / "bundle", "--atol", "1e-6", "--etdump_path", tmp_path / "trace")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("forward, case 0: passed") == 3
    names = [run.name for run in read_trace((tmp_path / "trace").read_bytes()).runs]
    assert (names.count("Execute"), names.count("Default")) == (3, 1)


class Same(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_an_output_that_shows_the_callers_input_is_compared(tmp_path: Path) -> None:
    unplanned = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    config = ExecutorchBackendConfig(memory_planning_pass=unplanned)
    (tmp_path / "same").write_bytes(bundle(MethodTestCase((X,), X), module=Same(), config=config))
    done = run("--bundled", tmp_path / "same", "--num_executions=2")
    assert "forward, case 0: passed: 24 numbers; largest error 0, relative 0" in done.stdout, done.stdout


def test_a_case_that_does_not_fit_fails_by_name(tmp_path: Path) -> None:
    (tmp_path / "flat").write_bytes(bundle(MethodTestCase((X,), RIGHT.flatten())))
    done = run("--bundled", tmp_path / "flat")
    assert done.returncode == 1
    assert "forward, case 0: FAILED: Error::InvalidArgument: sizes (1, 2, 3, 4), expected (24)" in done.stdout


def test_conflicting_options_are_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(path.read_bytes()[:-100])
    (tmp_path / "empty").write_bytes(bundle())
    for arguments, message in (
        (("--model_path", path, "--inputs", path), "neither --inputs, --input_shapes nor"),
        (("--bundled", path, "--inputs", path), "neither --inputs, --input_shapes nor"),
        (("--model_path", path, "--bundleio_rtol=-1"), "--bundleio_rtol: expected a number from 0 on, found '-1'"),
        (("--bundled", path, "--atol", "x"), "--atol: expected a number from 0 on, found 'x'"),
        (("--bundled", command.__file__), "bundled program: expected identifier"),
        (("--bundled", tmp_path / "broken"), "bundled program: damaged"),
        (("--bundled", tmp_path / "empty"), "has no test cases"),
        (("--bundled", path, "--method", "other"), "has no test cases of the method 'other'"),
    ):
        done = run(*arguments)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert message in done.stderr
