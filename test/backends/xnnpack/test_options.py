# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Options of the XNNPACK backend from Python and the runner: files of packed weights, scratch memory, wrong options."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from oracle.xnnpack_runtime import needs_xnnpack

from executorch.extension.executor_runner import command
from executorch.extension.pybindings import portable_lib
from executorch.runtime import InvalidArgumentError, NotFoundError, Runtime

PROGRAM = Path(__file__).parents[2] / "data" / "xnnpack" / "two_sizes.pte"
EXPECTED = np.array([[-0.2747683, -0.0684255, 0.0550953, 0.1189409, -0.2953824]], np.float32)
INPUT = np.ones((1, 3, 8, 8), np.float32)

pytestmark = needs_xnnpack


@pytest.mark.parametrize(
    "options", [{}, {"workspace_sharing_mode": 0}, {"workspace_sharing_mode": 2}, {"weight_cache_enabled": False}]
)
def test_results_are_the_same_with_any_option(options: dict[str, bool | int | str]) -> None:
    program = Runtime.get().load_program(PROGRAM, backend_options={"XnnpackBackend": options})
    method = program.load_method("small")
    np.testing.assert_allclose(method.execute([INPUT])[0], EXPECTED, rtol=1e-5, atol=1e-6)
    assert method.delegate_scratch_size > 0


def test_packed_weights_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    for _ in range(2):
        options = {"XnnpackBackend": {"packed_cache_path": str(path)}}
        method = Runtime.get().load_program(PROGRAM, backend_options=options).load_method("small")
        np.testing.assert_allclose(method.execute([INPUT])[0], EXPECTED, rtol=1e-5, atol=1e-6)
        assert path.read_bytes()[:8] == b"ETPACKED"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"workspace_sharing_mode": 3}, InvalidArgumentError, "workspace_sharing_mode is 0, 1 or 2, not 3"),
        ({"weight_cache_enabled": 1}, InvalidArgumentError, "weight_cache_enabled is a bool"),
        ({"packed_cache_path": "x" * 256}, InvalidArgumentError, "packed_cache_path .*at most 255 bytes, found 256"),
        ({"speed": 11}, NotFoundError, "there is no option speed"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, bool | int | str], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        Runtime.get().load_program(PROGRAM, backend_options={"XnnpackBackend": options}).load_method("small")
    with pytest.raises(error, match=message):
        portable_lib._set_backend_options("XnnpackBackend", options)


def test_the_runner_lists_scratch_and_keeps_packed_weights(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command_line = [command.BINARY, "--model_path", str(PROGRAM), *arguments]
        return subprocess.run(command_line, capture_output=True, text=True, check=True).stdout

    assert run("--list").count("scratch of delegates: ") == 2
    first = run("--method", "small", "--packed_cache", str(tmp_path / "weights"))
    second = run("--method", "small", "--packed_cache", str(tmp_path / "weights"))
    assert "-0.274768" in first
    assert first.splitlines()[2:] == second.splitlines()[2:]
    assert (tmp_path / "weights").exists()
