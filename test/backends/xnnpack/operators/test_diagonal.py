# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Diagonals are delegated, as gathers of constant places."""

from collections.abc import Callable

import pytest
import torch
from oracle.models.pipeline import run
from torch.export import Dim, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower


class _Between(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x.abs()).neg()


def _lowered(module: torch.nn.Module, x: torch.Tensor, dims: dict[int, Dim] | None = None) -> ExecutorchProgramManager:
    program = export(module, (x,), dynamic_shapes=({} if dims is None else dims,))
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()


def _delegates(lowered: ExecutorchProgramManager) -> int:
    return len(lowered.verdict.methods[0].delegates)


_DIAGONALS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of the last two dims": lambda x: torch.diagonal(x, 0, -2, -1),
    "above": lambda x: torch.diagonal(x, 2, 2, 3),
    "below": lambda x: torch.diagonal(x, -1, -2, -1),
    "of exchanged dims": lambda x: torch.diagonal(x, 1, -1, -2),
    "of a matrix": lambda x: torch.diagonal(x[0, 0]),
}


@pytest.mark.parametrize("name", _DIAGONALS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_diagonal_does_not_split_the_delegate(name: str, dtype: torch.dtype) -> None:
    module, x = _Between(_DIAGONALS[name]), torch.randn(2, 3, 4, 5, dtype=dtype)
    lowered = _lowered(module, x)
    assert _delegates(lowered) == 1 and not lowered.verdict.methods[0].fallbacks
    assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


def test_the_batch_of_diagonals_may_vary() -> None:
    module = _Between(lambda x: torch.diagonal(x, 0, 1, 2))
    lowered = _lowered(module, torch.randn(3, 4, 4), {0: Dim("batch", min=1, max=6)})
    assert _delegates(lowered) == 1
    for batch in (6, 1, 4):
        x = torch.randn(batch, 4, 4)
        assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


def test_a_diagonal_of_channels_last_images() -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 1), _Between(lambda x: torch.diagonal(x, 0, 2, 3))).eval()
    x = torch.randn(2, 3, 5, 4)
    lowered = _lowered(module, x)
    assert _delegates(lowered) == 1
    torch.testing.assert_close(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


@pytest.mark.parametrize(("dims", "varied"), [((0, 1), {}), ((1, 2), {1: Dim("rows", min=2, max=6)})])
def test_other_diagonals_run_on_kernels(dims: tuple[int, int], varied: dict[int, Dim]) -> None:
    module, x = _Between(lambda x: torch.diagonal(x, 0, *dims)), torch.randn(3, 4, 5)
    lowered = _lowered(module, x, varied)
    assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))
