# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs run through the executor whose tensors are at::Tensor (executor_runner_aten) as they do in eager."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import torch
from aten_mode.modules import Counter, Network
from oracle.tolerances import LAYERS, quanta

import executorch.exir.operator.quantized  # noqa: F401  # defines quantized_decomposed
from executorch.exir import to_edge

RUNNER = os.environ.get("EXECUTORCH_ATEN_RUNNER")
pytestmark = pytest.mark.skipif(not RUNNER, reason="EXECUTORCH_ATEN_RUNNER is not set: built without ATen mode")


class Branch(torch.nn.Module):
    """Control flow moves tensors from value to value."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos(), (x,))


class Quantized(torch.nn.Module):
    """A convolution between dequantize and quantize, which becomes one on the integers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (4, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(4) * 0.01 + 0.001)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, limits = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
        x = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.02, 3, *limits), 0.02, 3, *limits)
        weight = q.dequantize_per_channel(self.weight, self.scales, None, 0, *limits)
        y = torch.nn.functional.conv2d(x, weight, padding=1).relu()
        return q.dequantize_per_tensor(q.quantize_per_tensor(y, 0.05, -100, *limits), 0.05, -100, *limits)


def run(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], folder: Path, times: int = 1) -> list[bytes]:
    """Return the outputs' bytes after the given number of executions."""
    program = to_edge(torch.export.export(module.eval(), inputs)).to_executorch()
    (folder / "program.pte").write_bytes(program.buffer)
    for i, value in enumerate(inputs):
        (folder / f"{i}.bin").write_bytes(value.numpy().tobytes())
    given = ",".join(str(folder / f"{i}.bin") for i in range(len(inputs)))
    command = [RUNNER, "--model_path", folder / "program.pte", "--inputs", given, "--output_file", folder / "out"]
    done = subprocess.run([*map(str, command), f"--num_executions={times}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [path.read_bytes() for path in sorted(folder.glob("out-*.bin"))]


def assert_same(found: list[bytes], expected: list[torch.Tensor]) -> None:
    for data, wanted in zip(found, expected, strict=True):
        tensor = torch.frombuffer(bytearray(data), dtype=wanted.dtype).reshape(wanted.shape)
        torch.testing.assert_close(tensor, wanted, **LAYERS)


def test_a_network_matches_eager(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = Network(torch.nn.GroupNorm(3, 6)).eval(), (torch.randn(2, 3, 8, 8), torch.tensor([[1, 5, 9]] * 2))
    with torch.no_grad():
        expected = list(module(*inputs))
    assert_same(run(module, inputs, tmp_path), expected)


def test_a_buffer_keeps_the_written_values(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 3.0])
    assert_same(run(Counter(), (x,), tmp_path, times=3), [x * 6])


@pytest.mark.parametrize("sign", [1, -1])
def test_branches_match_eager(sign: int, tmp_path: Path) -> None:
    x = sign * torch.rand(5)
    assert_same(run(Branch(), (x,), tmp_path), [Branch()(x)])


def test_quantized_kernels_match_eager(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, x = Quantized(), torch.randn(1, 3, 6, 6)
    data = run(module, (x,), tmp_path)
    assert b"quantized_fused::convolution" in (tmp_path / "program.pte").read_bytes()
    difference = torch.frombuffer(bytearray(data[0]), dtype=torch.float32) - module(x).reshape(-1)
    assert difference.abs().max() <= quanta(0.05)["atol"]  # one, where a tie is rounded


def test_a_damaged_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "program.pte").write_bytes(b"\0" * 64)
    done = subprocess.run([RUNNER, "--model_path", tmp_path / "program.pte"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("executor_runner: ")
