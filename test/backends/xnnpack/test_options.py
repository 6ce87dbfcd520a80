# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Options of the XNNPACK backend from Python and the runner: files of packed weights, scratch memory, wrong options."""

import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import FEW_ROUNDINGS, LAYER, SEVEN_CONVOLUTIONS
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.executor_runner import command
from executorch.extension.pybindings import portable_lib
from executorch.runtime import InvalidArgumentError, NotFoundError, OutOfMemoryError, Runtime

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
    np.testing.assert_allclose(method.execute([INPUT])[0], EXPECTED, **FEW_ROUNDINGS)
    assert method.delegate_scratch_size > 0


def test_a_delegate_that_wants_more_scratch_memory_than_allowed_is_not_loaded() -> None:
    limited = {"XnnpackBackend": {"max_workspace_bytes": 64, "workspace_sharing_mode": 0}}
    program = Runtime.get().load_program(PROGRAM, backend_options=limited)
    with pytest.raises(OutOfMemoryError, match=r"needs \d+ bytes .* the limit max_workspace_bytes is 64") as refused:
        program.load_method("small")
    found = re.search(r"needs (\d+) bytes", str(refused.value))
    assert found
    for limit in (int(found[1]), found[1], 2**40, str(2**63), 0):
        options = {"XnnpackBackend": {"max_workspace_bytes": limit, "workspace_sharing_mode": 0}}
        method = Runtime.get().load_program(PROGRAM, backend_options=options).load_method("small")
        np.testing.assert_allclose(method.execute([INPUT])[0], EXPECTED, **FEW_ROUNDINGS)


@pytest.mark.parametrize("wrong", [-1, -(2**40), True, "", "12 MB", "-1", " 1", str(2**64)])
def test_a_limit_of_scratch_memory_that_is_not_a_number_of_bytes_is_refused(wrong: bool | int | str) -> None:
    options = {"XnnpackBackend": {"max_workspace_bytes": wrong}}
    with pytest.raises(InvalidArgumentError, match="option max_workspace_bytes is a number of bytes"):
        Runtime.get().load_program(PROGRAM, backend_options=options).load_method("small")


def test_packed_weights_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    for _ in range(2):
        options = {"XnnpackBackend": {"packed_cache_path": str(path)}}
        method = Runtime.get().load_program(PROGRAM, backend_options=options).load_method("small")
        np.testing.assert_allclose(method.execute([INPUT])[0], EXPECTED, **FEW_ROUNDINGS)
        assert path.read_bytes()[:8] == b"ETPACKED"


def _negate_in_place(program: Path, model: nn.Linear, as_if_untouched: bool) -> None:
    weight = model.weight.detach().numpy()
    before = program.stat()
    with program.open("r+b") as file:
        file.seek(program.read_bytes().index(weight.tobytes()))
        file.write((-weight).tobytes())
    if as_if_untouched:
        os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    with torch.no_grad():
        model.weight.neg_()


@pytest.mark.parametrize("as_if_untouched", [False, True])
def test_a_changed_file_is_read_again(as_if_untouched: bool, tmp_path: Path) -> None:
    model, inputs = nn.Linear(512, 640).eval(), (torch.rand(3, 512),)
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    program = tmp_path / "model.pte"
    program.write_bytes(edge.to_executorch().buffer)
    methods = []
    for _ in range(2):
        for _ in range(2):
            time.sleep(0.03)  # A recently changed file is not trusted.
            methods.append(Runtime.get().load_program(program).load_method("forward"))
            torch.testing.assert_close(methods[-1].execute(inputs)[0], model(*inputs), **LAYER)
        _negate_in_place(program, model, as_if_untouched)
    first, again, changed, changed_again = (method.execute(inputs)[0] for method in methods)
    assert torch.equal(first, again) and torch.equal(changed, changed_again) and not torch.equal(first, changed)


def test_copies_of_a_program_share_weights_whichever_packed_them(tmp_path: Path) -> None:
    model, inputs = nn.Sequential(nn.Linear(512, 1000), nn.ReLU(), nn.Linear(1000, 71)).eval(), (torch.rand(3, 512),)
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    content = edge.to_executorch().buffer
    files = [tmp_path / name for name in ("one.pte", "two.pte")]
    for file in files:
        file.write_bytes(content)
    time.sleep(0.03)
    expected = model(*inputs)
    for order in itertools.permutations([*files, content]):
        methods = [Runtime.get().load_program(source).load_method("forward") for source in order]
        while methods:
            # Weights packed by the first method outlive it.
            for method in methods:
                torch.testing.assert_close(method.execute(inputs)[0], expected, **LAYER)
            del methods[0], method


@pytest.mark.parametrize("as_if_untouched", [False, True])
def test_a_program_changed_in_place_gets_its_new_weights(as_if_untouched: bool, tmp_path: Path) -> None:
    model, inputs = nn.Linear(64, 64).eval(), (torch.rand(3, 64),)
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    program, cache = tmp_path / "model.pte", tmp_path / "weights"
    program.write_bytes(edge.to_executorch().buffer)
    assert program.read_bytes().count(model.weight.detach().numpy().tobytes()) == 1

    def start() -> None:
        time.sleep(0.03)  # A recently changed file is not trusted.
        options = {"XnnpackBackend": {"packed_cache_path": str(cache)}}
        method = Runtime.get().load_program(program, backend_options=options).load_method("forward")
        torch.testing.assert_close(method.execute(inputs)[0], model(*inputs), **LAYER)

    start()
    known = cache.read_bytes()
    contents = int.from_bytes(known[64:72], "little")
    assert contents == (1 if sys.platform == "linux" else 0)
    start()
    assert cache.read_bytes() == known
    _negate_in_place(program, model, as_if_untouched)
    start()
    assert int.from_bytes(cache.read_bytes()[64:72], "little") == 2 * contents


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_convolutions_of_every_kind_find_their_packed_weights_in_the_file(dtype: torch.dtype, tmp_path: Path) -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 20, 3, bias=False),
        nn.Conv2d(20, 20, 3, groups=20, padding=1),
        nn.ConvTranspose2d(20, 12, 3, stride=2, padding=1, output_padding=1),
        nn.ConvTranspose2d(12, 18, (4, 5), stride=(3, 2), groups=3),
        nn.ConvTranspose2d(18, 5, 2),
        nn.Conv2d(5, 15, 5, groups=5),
        nn.Conv2d(15, 15, 1, groups=15),
    )
    model, inputs = model.to(dtype).eval(), (torch.rand(1, 3, 13, 11).to(dtype),)
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    program, path = edge.to_executorch().buffer, tmp_path / "weights"
    results, files = [], []
    for _ in range(2):
        options = {"XnnpackBackend": {"packed_cache_path": str(path)}}
        method = Runtime.get().load_program(program, backend_options=options).load_method("forward")
        results.append(method.execute(inputs))
        files.append(path.stat().st_ino)
        del method
    torch.testing.assert_close(results[0][0], model(*inputs), **SEVEN_CONVOLUTIONS[dtype])
    assert torch.equal(results[0][0], results[1][0])
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"workspace_sharing_mode": 3}, InvalidArgumentError, "workspace_sharing_mode is 0, 1 or 2, not 3"),
        ({"weight_cache_enabled": 1}, InvalidArgumentError, "weight_cache_enabled is a bool"),
        ({"packed_cache_path": "x" * 256}, InvalidArgumentError, "packed_cache_path .*at most 255 bytes, found 256"),
        ({"compute_precision": "fp16"}, InvalidArgumentError, "option compute_precision is fp32 or bf16, found 'fp16'"),
        ({"compute_precision": 16}, InvalidArgumentError, "compute_precision is a text"),
        ({"speed": 11}, NotFoundError, "unknown option speed"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, bool | int | str], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        Runtime.get().load_program(PROGRAM, backend_options={"XnnpackBackend": options}).load_method("small")
    with pytest.raises(error, match=message):
        portable_lib._set_backend_options("XnnpackBackend", options)


def test_the_runner_takes_a_compute_precision_and_refuses_others() -> None:
    def run(precision: str) -> subprocess.CompletedProcess[str]:
        arguments = ["--model_path", str(PROGRAM), "--method", "small", "--compute_precision", precision]
        return subprocess.run([command.BINARY, *arguments], capture_output=True, text=True, check=False)

    assert run("bf16").returncode == 0
    refused = run("fp16")
    assert refused.returncode != 0 and "compute_precision is fp32 or bf16, found 'fp16'" in refused.stderr


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


def test_the_runner_refuses_a_delegate_that_wants_too_much_scratch_memory() -> None:
    command_line = [command.BINARY, "--model_path", str(PROGRAM), "--method", "small", "--max_workspace_bytes"]
    done = subprocess.run([*command_line, "64"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the limit max_workspace_bytes is 64" in done.stderr
    assert subprocess.run([*command_line, "none"], capture_output=True, check=False).returncode == 0
