# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Gathers with constant indices are delegated."""

import pytest
import torch
from models.function_module import Function
from oracle.models.pipeline import run
from torch.export import Dim, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower


def _lowered(module: torch.nn.Module, x: torch.Tensor, dims: dict[int, Dim] | None = None) -> ExecutorchProgramManager:
    program = export(module, (x,), dynamic_shapes=(({} if dims is None else dims,),))
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()


def _gather(dim: int, index: torch.Tensor) -> torch.nn.Module:
    return Function(lambda x: x.abs().gather(dim, index).neg())


def _delegates(lowered: ExecutorchProgramManager) -> int:
    return len(lowered.verdict.methods[0].delegates)


_RANDOM = torch.Generator().manual_seed(0)


def _places(size: int, *shape: int) -> torch.Tensor:
    return torch.randint(size, shape, generator=_RANDOM)


_DISTANCES = torch.arange(4)[:, None] - torch.arange(5) + 4
"""Distances of 4 queries and 5 keys, as places of a table that has an element for each distance."""

_GATHERS: dict[str, tuple[tuple[int, ...], int, torch.Tensor]] = {
    "places that vary everywhere": ((2, 4, 9), -1, _places(9, 2, 4, 5)),
    "places of rows": ((6, 4), 0, _places(6, 7, 4)),
    "places of a middle dim": ((2, 6, 5), 1, _places(6, 2, 9, 5)),
    "an index that is shorter than the operand": ((3, 4, 6), 2, _places(6, 2, 2, 7)),
    "the same places in all rows": ((2, 6, 5), 1, torch.tensor([5, 0, 0, 2])[:, None].expand(2, 4, 5)),
    "relative distances in all heads": ((2, 3, 4, 8), -1, _DISTANCES.expand(2, 3, 4, 5)),
    "gathered dims with another one between": ((4, 3, 8), 2, _DISTANCES[:, None].expand(4, 3, 5)),
    "more places than an index operator may read": ((300, 9), 1, _places(9, 300, 300)),
}


@pytest.mark.parametrize("name", _GATHERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_gather_does_not_split_the_delegate(name: str, dtype: torch.dtype) -> None:
    shape, dim, index = _GATHERS[name]
    module, x = _gather(dim, index), torch.randn(shape, dtype=dtype)
    lowered = _lowered(module, x)
    assert _delegates(lowered) == 1 and not lowered.verdict.methods[0].fallbacks
    assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


def test_the_index_is_not_an_input_of_the_delegate() -> None:
    shape, dim, index = _GATHERS["relative distances in all heads"]
    program = to_edge_transform_and_lower(
        export(_gather(dim, index), (torch.randn(shape),)), partitioner=[XnnpackPartitioner()]
    ).exported_program()
    assert not program.constants and not program.state_dict


def test_a_gather_of_channels_last_images() -> None:
    convolution, index = torch.nn.Conv2d(3, 4, 1), torch.arange(5).flip(0).expand(2, 4, 6, 5)
    module = Function(lambda x: convolution(x).gather(3, index).neg())
    x = torch.randn(2, 3, 6, 5)
    lowered = _lowered(module, x)
    assert _delegates(lowered) == 1
    torch.testing.assert_close(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


def test_a_gather_from_booleans() -> None:
    index = _DISTANCES.expand(2, 4, 5)
    module, x = Function(lambda x: torch.where((x > 0).gather(-1, index), x[..., :5], x[..., 3:])), torch.randn(2, 4, 8)
    lowered = _lowered(module, x)
    assert _delegates(lowered) == 1 and not lowered.verdict.methods[0].fallbacks
    assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


_REPEATED: dict[str, tuple[tuple[int, ...], int, torch.Tensor]] = {
    "relative distances": ((2, 4, 8), -1, _DISTANCES),
    "the same places in all rows": ((2, 6, 5), 1, torch.tensor([5, 0, 0, 2])[:, None]),
    "a kept dimension of constant size": ((2, 3, 4, 8), 3, _DISTANCES),
    "more places than are free": ((2, 300, 9), 2, _places(9, 300, 300)),
}


@pytest.mark.parametrize("name", _REPEATED)
def test_a_gather_of_places_that_a_dynamic_batch_repeats_does_not_split_the_delegate(name: str) -> None:
    shape, dim, places = _REPEATED[name]
    sizes = [
        *shape[1 : -places.dim()],
        *(read if size == 1 else size for size, read in zip(places.shape, shape[-places.dim() :], strict=True)),
    ]
    module = Function(lambda x: x.abs().gather(dim, places.expand(x.shape[0], *sizes)).neg())
    lowered = _lowered(module, torch.randn(shape), {0: Dim("batch", min=1, max=5)})
    assert _delegates(lowered) == 1 and not lowered.verdict.methods[0].fallbacks
    for batch in (1, 5):
        x = torch.randn(batch, *shape[1:])
        assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


@pytest.mark.parametrize("places", [[[0, -1]], [[0, 4]]], ids=["negative", "too large"])
def test_a_repeated_place_outside_of_its_dimension_is_refused_as_in_eager(places: list[list[int]]) -> None:
    module = Function(lambda x: x.abs().gather(1, torch.tensor(places).expand(x.shape[0], 2)))
    lowered = _lowered(module, torch.randn(2, 4), {0: Dim("batch", min=1, max=5)})
    with pytest.raises(RuntimeError):
        run(lowered.buffer, (torch.randn(3, 4),))


def test_a_gather_from_a_dimension_of_varying_size_runs_on_kernels() -> None:
    module = _gather(1, torch.tensor([[2, 0], [1, 1]]))
    lowered = _lowered(module, torch.randn(2, 4), {1: Dim("columns", min=3, max=6)})
    (fallback,) = lowered.verdict.methods[0].fallbacks
    assert "the size of a gathered dimension is dynamic" in str(fallback)
    for columns in (3, 6):
        x = torch.randn(2, columns)
        assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


def test_a_gather_of_no_elements_runs_on_kernels() -> None:
    module, x = _gather(1, torch.empty(2, 0, dtype=torch.int64)), torch.randn(2, 4)
    lowered = _lowered(module, x)
    assert torch.equal(torch.as_tensor(run(lowered.buffer, (x,))[0]), module(x))


def test_an_index_beyond_its_dimension_is_refused_as_in_eager() -> None:
    module, x = _gather(1, torch.tensor([[0, 4]])), torch.randn(1, 4)
    lowered = _lowered(module, x)
    (fallback,) = lowered.verdict.methods[0].fallbacks
    assert "an index is outside of its dimension of size 4" in str(fallback)
    with pytest.raises(RuntimeError):
        run(lowered.buffer, (x,))
