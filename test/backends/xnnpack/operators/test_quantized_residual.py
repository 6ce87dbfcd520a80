# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Additions of int8 tensors after int8 products are fused into them, and give the integers of an addition apart."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from oracle.models.listing import operators_of
from oracle.models.quantized import QuantizedLayer, as_integers
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import quanta
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Tensors = tuple[torch.Tensor, ...]


def _convolution(inputs: int, outputs: int, window: int, **options: int) -> nn.Module:
    layer = nn.Conv2d(inputs, outputs, window, groups=options.get("groups", 1))
    return QuantizedLayer(layer, lambda x, w, b: F.conv2d(x, w, b, **options), 0)


def _linear(inputs: int, outputs: int) -> nn.Module:
    return QuantizedLayer(nn.Linear(inputs, outputs), F.linear, 0)


LAYERS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "1 x 1": lambda: (_convolution(37, 96, 1), (2, 37, 5, 7)),
    "3 x 3": lambda: (_convolution(5, 33, 3, padding=1), (2, 5, 7, 9)),
    "with a stride": lambda: (_convolution(16, 160, 3, padding=1, stride=2), (1, 16, 13, 14)),
    "in groups": lambda: (_convolution(64, 64, 3, padding=1, groups=2), (1, 64, 5, 6)),
    "depthwise": lambda: (_convolution(24, 24, 3, padding=1, groups=24), (1, 24, 5, 6)),
    "of few channels": lambda: (_convolution(3, 7, 3, padding=1), (1, 3, 8, 8)),
    "linear": lambda: (_linear(37, 96), (23, 37)),
    "linear, to one column": lambda: (_linear(24, 1), (9, 24)),
}
CLAMPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nothing": lambda x: x,
    "relu": F.relu,
    "clamp": lambda x: x.clamp(-0.4, 0.9),
}


class _Residual(nn.Module):
    """clamp(layer(x) + y) of int8. `shows` also returns the layer's own result, which prevents the fusion."""

    def __init__(self, layer: nn.Module, scales: tuple[float, float, float], clamp: str, shows: bool = False) -> None:
        super().__init__()
        self.layer, self.scales, self.clamp, self.shows = layer, scales, CLAMPS[clamp], shows
        self.swaps = False

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Tensors:
        product = as_integers(F.relu(self.layer(as_integers(x, 0.03, 3))), self.scales[0], -5)
        other = as_integers(y, self.scales[1], 11)
        if y.dim() == 4:  # in channels last, as the product is
            other = as_integers(F.max_pool2d(other, 3, 1, 1), self.scales[1], 11)
        total = other + product if self.swaps else product + other
        result = as_integers(self.clamp(total), self.scales[2], -20)
        return (result, product) if self.shows else (result,)


def _program(model: nn.Module, inputs: Tensors, dynamic: object = None) -> bytes:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def _method(model: nn.Module, inputs: Tensors, dynamic: object = None) -> Callable[[Tensors], list[torch.Tensor]]:
    return Runtime.get().load_program(_program(model, inputs, dynamic)).load_method("forward").execute


def _inputs(layer: nn.Module, shape: tuple[int, ...]) -> Tensors:
    x = torch.randn(shape)
    return x, 2 * torch.randn(layer(x).shape)


def _check(model: _Residual, inputs: Tensors) -> None:
    (fused,) = _method(model, inputs)(inputs)
    model.shows = True
    apart, _ = _method(model, inputs)(inputs)
    torch.testing.assert_close(fused, apart, rtol=0, atol=0)
    torch.testing.assert_close(fused, model(*inputs)[0], **quanta(model.scales[2]))


@pytest.mark.sampled
@pytest.mark.parametrize("clamp", CLAMPS)
@pytest.mark.parametrize("kind", LAYERS)
def test_a_product_that_adds_gives_the_integers_of_an_addition_after_it(kind: str, clamp: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS[kind]()
    _check(_Residual(layer, (0.03, 0.02, 0.025), clamp), _inputs(layer, shape))


@pytest.mark.parametrize(
    "scales", [(0.03, 0.0001, 0.02), (0.0002, 0.06, 0.05), (0.02, 0.02, 0.02), (0.5, 0.3, 0.0041), (0.004, 0.003, 3.2)]
)
def test_scales_of_any_relation_give_the_integers_of_an_addition_after_it(scales: tuple[float, float, float]) -> None:
    torch.manual_seed(1)
    layer, shape = LAYERS["1 x 1"]()
    model = _Residual(layer, scales, "nothing")
    inputs = _inputs(layer, shape)
    _check(model, inputs)
    model.shows, model.swaps = False, True
    _check(model, inputs)


def test_two_convolutions_are_added_by_the_later_one() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = _convolution(8, 40, 3, padding=1), _convolution(8, 40, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = as_integers(x)
            total = as_integers(self.first(x), 0.02) + as_integers(self.second(x), 0.03)
            return as_integers(F.relu(total), 0.025, -128)

    torch.manual_seed(0)
    model, inputs = Block(), (torch.randn(1, 8, 9, 11),)
    (result,) = _method(model, inputs)(inputs)
    torch.testing.assert_close(result, model(*inputs), **quanta(0.025))


def test_a_convolution_adds_images_of_other_sizes_than_it_was_exported_with() -> None:
    torch.manual_seed(0)
    model = _Residual(_convolution(8, 40, 3, padding=1), (0.03, 0.02, 0.025), "relu")
    batch, height = torch.export.Dim("batch", min=1, max=4), torch.export.Dim("height", min=2, max=12)
    sizes = {0: batch, 2: height}
    execute = _method(model, (torch.randn(3, 8, 9, 7), torch.randn(3, 40, 9, 7)), {"x": sizes, "y": sizes})
    for images, rows in ((3, 9), (1, 2), (4, 12), (2, 5)):
        inputs = (torch.randn(images, 8, rows, 7), torch.randn(images, 40, rows, 7))
        (result,) = execute(inputs)
        torch.testing.assert_close(result, model(*inputs)[0], **quanta(0.025))


@pytest.mark.parametrize(("shows", "additions"), [(False, 0), (True, 1)])
def test_the_addition_is_part_of_the_product_unless_the_product_is_an_output(
    shows: bool, additions: int, tmp_path: Path
) -> None:
    layer, shape = LAYERS["3 x 3"]()
    model = _Residual(layer, (0.03, 0.02, 0.025), "relu", shows)
    program = tmp_path / "model.pte"
    program.write_bytes(_program(model, _inputs(layer, shape)))
    names = [operator.split(" in ")[0] for operator in operators_of(program)]
    assert names.count("Binary Elementwise (ND)") == additions, names
