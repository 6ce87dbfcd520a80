# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Additions after convolutions and linear layers are fused into their kernels, with bit-identical results."""

from collections.abc import Callable

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Tensors = tuple[torch.Tensor, ...]
Sum = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class _Residual(nn.Module):
    """relu(layer(x) + y) or a variant; `shows` also returns the layer's own result, which prevents the fusion."""

    def __init__(self, layer: nn.Module, result: Sum, shows: bool = False) -> None:
        super().__init__()
        self.layer = layer
        self.result = result
        self.shows = shows

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Tensors:
        product = self.layer(x)
        result = self.result(product, y)
        return (result, product) if self.shows else (result,)


SUMS: dict[str, Sum] = {
    "and relu": lambda a, b: F.relu(a + b),
    "alone": lambda a, b: a + b,
    "second": lambda a, b: (b + a).clamp(-0.5, 0.5),
    "of what is computed later": lambda a, b: F.relu(b.sigmoid() + a),
    "twice": lambda a, b: F.relu(a + b) + b,
    "to itself": lambda a, b: F.relu(a + a) * b,
    "behind an activation": lambda a, b: F.relu(a) + b,
    "behind gelu": lambda a, b: F.gelu(a) + b,
    "before gelu": lambda a, b: F.gelu(a + b),
    "of a row": lambda a, b: F.relu(a + b[..., :1, :]),
    "of a shape": lambda a, b: (a.flatten(0, 1) + b.flatten(0, 1)).clamp(max=0.5),
}
LAYERS = {
    "3 x 3": lambda: (nn.Conv2d(5, 33, 3, padding=1), (2, 5, 7, 9)),
    "with a stride": lambda: (nn.Conv2d(16, 64, 3, 2, 1), (1, 16, 13, 14)),
    "1 x 1": lambda: (nn.Conv2d(37, 96, 1), (2, 37, 5, 7)),
    "to one point": lambda: (nn.Conv2d(8, 40, (2, 3)), (1, 8, 2, 3)),
    "1 x 1 of one point": lambda: (nn.Conv2d(33, 48, 1), (1, 33, 1, 1)),
    "of few channels": lambda: (nn.Conv2d(3, 7, 3, padding=1), (1, 3, 8, 8)),
    "in groups": lambda: (nn.Conv2d(64, 64, 3, padding=1, groups=2), (1, 64, 5, 6)),
    "without bias": lambda: (nn.Conv2d(8, 32, 1, bias=False), (1, 8, 6, 6)),
    "linear": lambda: (nn.Linear(37, 96), (2, 23, 37)),
    "linear, one row": lambda: (nn.Linear(64, 33), (1, 64)),
    "linear, of few columns": lambda: (nn.Linear(40, 5), (13, 40)),
    "linear, without bias": lambda: (nn.Linear(48, 130, bias=False), (3, 1, 7, 48)),
    "linear, with long rows": lambda: (nn.Linear(3001, 70), (14, 3001)),
    "linear, to 24 columns": lambda: (nn.Linear(40, 24), (13, 40)),
    "linear, with long rows to 72 columns": lambda: (nn.Linear(3001, 72), (15, 3001)),
    "linear, to one column": lambda: (nn.Linear(24, 1), (9, 24)),
    "linear, without rows": lambda: (nn.Linear(24, 40), (0, 24)),
}


def _method(model: nn.Module, inputs: Tensors, dynamic: object = None) -> Callable[[Tensors], list[torch.Tensor]]:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute


def _inputs(layer: nn.Module, shape: tuple[int, ...]) -> Tensors:
    x = torch.randn(shape)
    y = torch.randn(layer(x).shape)
    y.view(-1)[::17], y.view(-1)[5::23] = torch.nan, -torch.inf
    return x, y


@pytest.mark.sampled
@pytest.mark.parametrize("kind", LAYERS)
def test_a_fused_addition_gives_the_bits_of_a_separate_one(kind: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS[kind]()
    inputs = _inputs(layer, shape)
    for result in (SUMS["and relu"], SUMS["alone"]):
        (fused,) = _method(_Residual(layer, result), inputs)(inputs)
        apart, _ = _method(_Residual(layer, result, shows=True), inputs)(inputs)
        torch.testing.assert_close(fused, apart, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(fused, result(layer(inputs[0]), inputs[1]), **LAYER, equal_nan=True)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["3 x 3", "linear", "linear, without bias"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_with_a_layer_match_eager(name: str, kind: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS[kind]()
    inputs = _inputs(layer, shape)
    (result,) = _method(_Residual(layer, SUMS[name]), inputs)(inputs)
    expected = SUMS[name](layer(inputs[0]), inputs[1])
    torch.testing.assert_close(result, expected, **LAYER, equal_nan=True)


def test_two_convolutions_are_added_by_the_later_one() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(8, 40, 3, padding=1), nn.Conv2d(8, 40, 1)
            self.third = nn.Conv2d(40, 40, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = F.relu(self.first(x) + self.second(x))
            return F.relu(y + self.third(y)) + y

    torch.manual_seed(0)
    model, inputs = Block(), (torch.randn(1, 8, 9, 11),)
    (result,) = _method(model, inputs)(inputs)
    torch.testing.assert_close(result, model(*inputs), **LAYER)


def test_a_convolution_adds_images_of_other_sizes_than_it_was_exported_with() -> None:
    torch.manual_seed(0)
    convolution = nn.Conv2d(8, 40, 3, padding=1)
    model = _Residual(convolution, SUMS["and relu"])
    batch, height = torch.export.Dim("batch", min=1, max=4), torch.export.Dim("height", min=2, max=12)
    sizes = {0: batch, 2: height}
    execute = _method(model, (torch.randn(3, 8, 9, 7), torch.randn(3, 40, 9, 7)), {"x": sizes, "y": sizes})
    for images, rows in ((3, 9), (1, 2), (4, 12), (2, 5)):
        inputs = (torch.randn(images, 8, rows, 7), torch.randn(images, 40, rows, 7))
        (result,) = execute(inputs)
        torch.testing.assert_close(result, model(*inputs)[0], **LAYER)


def test_a_linear_layer_adds_any_number_of_rows() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(40, 72, bias=False)
    model = _Residual(layer, SUMS["and relu"])
    rows = {1: torch.export.Dim("rows", min=1, max=50)}
    execute = _method(model, (torch.randn(2, 9, 40), torch.randn(2, 9, 72)), {"x": rows, "y": rows})
    for count in (9, 1, 50, 12, 13):
        inputs = (torch.randn(2, count, 40), torch.randn(2, count, 72))
        (result,) = execute(inputs)
        torch.testing.assert_close(result, model(*inputs)[0], **LAYER)


def test_a_value_with_several_readers_takes_the_place_of_its_operand() -> None:
    """The parts of a reshaped product are read by nodes with others between them."""

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(24, 72), nn.Linear(24, 24)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.qkv(x).reshape(2, 7, 3, 4, 6).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = (q @ k.transpose(-2, -1)).softmax(-1) @ (v + q.tanh())
            return x + self.out((mixed * k.exp()).transpose(1, 2).reshape(2, 7, 24))

    torch.manual_seed(0)
    model, inputs = Attention(), (torch.randn(2, 7, 24),)
    execute = _method(model, inputs)
    for _ in range(2):
        (result,) = execute(inputs)
        torch.testing.assert_close(result, model(*inputs), **LAYER)
