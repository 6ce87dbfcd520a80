# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""LowerPermuteRankPass: fewer dims in permutes between views, the same results to the bit."""

from collections.abc import Callable

import pytest
import torch
from oracle.models.pipeline import run, to_program
from torch.export import Dim, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower


class Rearranged(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x.abs()).neg()


def windows(x: torch.Tensor, size: int = 2) -> torch.Tensor:
    """[N, H, W, C] to [N * windows, size * size, C]."""
    n, h, w, c = x.shape
    parts = x.view(n, h // size, size, w // size, size, c)
    return parts.permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, c)


def heads_of_windows(x: torch.Tensor) -> torch.Tensor:
    """Seven dims, as einops writes them: one of size 1, one that no other permuted dim stays beside."""
    return x.view(1, 2, 2, 3, 2, 2, 2).permute(0, 3, 6, 1, 4, 2, 5).reshape(1, 6, 4, 4)


def windows_of_volumes(x: torch.Tensor) -> torch.Tensor:
    """[N, C, T, H, W] to [N, C, windows of T, of H, of W, 3, 2, 4]."""
    return x.unfold(2, 3, 1).unfold(-3, 2, 2).unfold(4, 4, 3)


# function, sizes of its operand → ranks of the permutes that remain
CASES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], tuple[int, ...], list[int]]] = {
    "windows of one image": (windows, (1, 4, 6, 3), [4]),
    "windows of several images": (windows, (2, 4, 6, 3), [4]),
    "seven dims": (heads_of_windows, (96,), [6]),
    "a shuffle of volumes": (
        lambda x: x.view(2, 3, 2, 3, 2, 4, 5, 2).permute(0, 1, 5, 2, 6, 3, 7, 4).flatten(6).flatten(4, 5).flatten(2, 3),
        (2, 36, 4, 5, 2),
        [4, 5],
    ),
    "eight dims in reverse": (
        lambda x: x.view(2, 3, 2, 3, 2, 3, 2, 3).permute(7, 6, 5, 4, 3, 2, 1, 0).reshape(-1),
        (6, 6, 6, 6),
        [3, 3, 6],
    ),
    "windows of volumes": (
        lambda x: windows_of_volumes(x).permute(0, 2, 3, 4, 1, 5, 6, 7).reshape(-1, 3, 24),
        (2, 3, 4, 5, 8),
        [4],
    ),
    "windows of volumes that nothing permutes": (windows_of_volumes, (2, 3, 4, 5, 8), []),
    "windows of no volumes": (windows_of_volumes, (0, 3, 4, 5, 8), []),
    "two permutes": (
        lambda x: x.view(2, 3, 1, 4, 1, 5, 1).permute(0, 1, 4, 5, 6, 2, 3).permute(0, 1, 3, 6, 2, 4, 5).reshape(6, 20),
        (120,),
        [3],
    ),
    "an added dim": (lambda x: x[..., None].permute(4, 2, 0, 1, 3).reshape(3, 8), (2, 2, 3, 2), [3]),
    "two permutes, the first with a second reader": (
        lambda x: (lambda y: y.permute(3, 0, 1, 2, 4).reshape(6, 4) + y.reshape(6, 4))(
            x.view(1, 2, 3, 2, 2).permute(0, 2, 1, 3, 4)
        ),
        (24,),
        [3, 4],
    ),
    "dims of size 1 alone": (lambda x: x.view(1, 1, 6, 1, 1).permute(4, 2, 0, 1, 3).reshape(6), (6,), [1]),
    "no dim that goes": (lambda x: x.view(2, 3, 2, 3, 2).permute(4, 3, 2, 1, 0).reshape(72), (72,), [5]),
    "no elements": (lambda x: x.view(1, 0, 2, 3, 2).permute(0, 3, 2, 1, 4).reshape(-1, 2), (0, 12), [4]),
    "four dims": (lambda x: x.view(1, 4, 3, 2).permute(0, 2, 1, 3).reshape(3, 8), (4, 6), [4]),
    "a reader that is no view": (lambda x: x.view(1, 2, 2, 3, 2).permute(0, 3, 1, 2, 4) + 1, (24,), [5]),
}


@pytest.mark.parametrize("name", CASES)
def test_permutes_lose_dims_and_keep_results(name: str) -> None:
    function, sizes, expected = CASES[name]
    module, inputs = Rearranged(function), (torch.randn(sizes),)
    graph = to_edge(export(module, inputs)).exported_program().graph
    ranks = [node.meta["val"].dim() for node in graph.nodes if "permute_copy" in str(node.target)]
    assert ranks == expected
    assert torch.equal(torch.as_tensor(run(to_program(module, inputs), inputs)[0]), module(*inputs))


def test_a_shuffle_of_volumes_of_a_dynamic_batch_is_one_delegate() -> None:
    """Seven dims move, and the batch."""

    def shuffle(x: torch.Tensor) -> torch.Tensor:
        n, _, d, h, w = x.shape
        parts = x.view(n, 3, 2, 3, 2, d, h, w).permute(0, 1, 5, 2, 6, 3, 7, 4)
        return parts.flatten(6).flatten(4, 5).flatten(2, 3)

    module, inputs = Rearranged(shuffle), (torch.randn(3, 36, 4, 5, 2),)
    program = export(module, inputs, dynamic_shapes=({0: Dim("batch", min=2, max=5)},))
    manager = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert [node.name for node in manager.exported_program().graph.nodes if "permute" in node.name] == []
    lowered = manager.to_executorch()
    assert len(lowered.verdict.methods[0].delegates) == 1
    for batch in (2, 5):
        given = (torch.randn(batch, 36, 4, 5, 2),)
        assert torch.equal(torch.as_tensor(run(lowered.buffer, given)[0]), module(*given))


def test_products_of_windows_of_a_dynamic_batch_of_volumes_are_one_delegate() -> None:
    """As vit_pytorch's `vivit_with_moss` correlates neighbors: torch adds dims of size 1 to the other factor."""

    def correlate(x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bcthw,bcthwluv->bthwluv", x[:, :, :2, :2, :2], windows_of_volumes(x)).flatten(4)

    module, inputs = Rearranged(correlate), (torch.randn(3, 3, 4, 5, 8),)
    program = export(module, inputs, dynamic_shapes=({0: Dim("batch", min=1, max=5)},))
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    assert lowered.verdict.methods[0].fallbacks == ()
    assert len(lowered.verdict.methods[0].delegates) == 1
    for batch in (1, 5):
        given = (torch.randn(batch, 3, 4, 5, 8),)
        torch.testing.assert_close(torch.as_tensor(run(lowered.buffer, given)[0]), module(*given))


def test_a_dynamic_batch_stays_a_dim() -> None:
    module, inputs = Rearranged(windows), (torch.randn(3, 4, 6, 3),)
    shapes = {"x": {0: Dim("batch", min=2, max=5)}}
    program = to_program(module, inputs, dynamic_shapes=shapes)
    for batch in (2, 5):
        given = (torch.randn(batch, 4, 6, 3),)
        assert torch.equal(torch.as_tensor(run(program, given)[0]), module(*given))
