# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A row of a matrix product has the same bits for any number of rows, columns and terms of the product."""

from collections.abc import Callable

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

MAX_ROWS = 50
Method = Callable[[tuple[torch.Tensor, ...]], list[torch.Tensor]]


def _method(model: nn.Module, shape: tuple[int, ...], sizes: dict[int, object] | None = None) -> Method:
    exported = torch.export.export(model.eval(), (torch.randn(shape),), dynamic_shapes=(sizes,) if sizes else None)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute


def _same(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@pytest.fixture(params=(1, 3))
def threads(request: pytest.FixtureRequest) -> object:
    before = portable_lib._threadpool_get_thread_count()
    portable_lib._unsafe_reset_threadpool(request.param)
    yield request.param
    portable_lib._unsafe_reset_threadpool(before)


# Columns: one panel and several, with halves and remainders, and eight that two rows share. Lengths: a multiple of a
# step, others, and one computed in blocks.
SINGLE = [(1, 32), (6, 40), (64, 64), (37, 100), (130, 177), (1541, 65), (3100, 48)]
SHARED = [(1, 8), (37, 24), (64, 56), (130, 72), (1541, 88), (3100, 40), (3100, 120)]


@pytest.mark.sampled
@pytest.mark.parametrize(("length", "columns"), SINGLE + SHARED)
def test_rows_have_the_same_bits_together_and_alone(threads: int, length: int, columns: int) -> None:
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(length, columns), nn.Hardtanh(-0.4, 0.3))
    method = _method(layer, (MAX_ROWS, length), {0: Dim("rows", max=MAX_ROWS)})
    x = torch.randn(MAX_ROWS, length)
    x[3, 0], x[17, -1] = torch.nan, torch.inf
    alone = torch.cat([method((row[None],))[0] for row in x])
    for rows in (2, 3, 5, 6, 8, 10, 11, 12, 16, 23, 49, 50):
        _same(method((x[:rows],))[0], alone[:rows])


def _windows(image: torch.Tensor, kernel: int, stride: int) -> torch.Tensor:
    """The patches that a convolution multiplies, one row for each output point: in XNNPACK's order, channels last."""
    padded = F.pad(image, [kernel // 2] * 4)
    points = padded.unfold(2, kernel, stride).unfold(3, kernel, stride)
    return points.permute(0, 2, 3, 4, 5, 1).flatten(3)


# Channels of the image and the result, kernel, stride, height, width.
CONVOLUTIONS = {
    "first": (3, 64, 7, 2, 20, 37),
    "first, a panel and a half": (3, 40, 3, 2, 9, 26),
    "first, large window": (4, 33, 11, 3, 30, 31),
    "3 x 3": (20, 72, 3, 1, 7, 7),
    "3 x 3 in parts": (200, 96, 3, 1, 5, 10),
    "long 3 x 3": (1100, 32, 3, 2, 3, 9),
    "five points": (20, 32, 3, 1, 1, 5),
    "fifteen points": (20, 32, 3, 1, 3, 5),
    "1 x 1 with a stride": (40, 100, 1, 2, 13, 9),
    "first, to 56 channels": (3, 56, 3, 2, 11, 27),
    "3 x 3 to 88 channels": (20, 88, 3, 1, 7, 7),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_equals_the_product_of_its_windows(name: str, threads: int) -> None:
    torch.manual_seed(0)
    channels, results, kernel, stride, height, width = CONVOLUTIONS[name]
    convolution = nn.Conv2d(channels, results, kernel, stride, kernel // 2)
    linear = nn.Linear(channels * kernel * kernel, results)
    with torch.no_grad():
        linear.weight.copy_(convolution.weight.permute(0, 2, 3, 1).flatten(1))
        linear.bias.copy_(convolution.bias)
    image = torch.randn(2, channels, height, width)
    rows = _windows(image, kernel, stride)
    (expected,) = _method(linear, rows.shape)((rows,))
    (found,) = _method(convolution, image.shape)((image,))
    _same(found, expected.permute(0, 3, 1, 2))
