# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Activations after convolutions and linear layers are fused into their kernels, with bit-identical results."""

from collections.abc import Callable

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER, ONE_ROUNDING, ROUNDED_ONCE, relative
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Tensors = tuple[torch.Tensor, ...]
Activation = Callable[[torch.Tensor], torch.Tensor]


class _Activated(nn.Module):
    """activation(layer(x)); `shows` the layer's result, which then stays apart."""

    def __init__(self, layer: nn.Module, activation: Activation, shows: bool = False) -> None:
        super().__init__()
        self.layer = layer
        self.activation = activation
        self.shows = shows

    def forward(self, x: torch.Tensor) -> Tensors:
        linear = self.layer(x)
        result = self.activation(linear)
        return (result, linear) if self.shows else (result,)


ACTIVATIONS: dict[str, Activation] = {
    "silu": F.silu,
    "silu, sigmoid first": lambda x: torch.sigmoid(x) * x,
    "hardswish": F.hardswish,
    "gelu": F.gelu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
NEIGHBORS: dict[str, Activation] = {
    "limited after it": lambda x: F.silu(x).clamp(-0.1, 0.5),
    "limited before it": lambda x: F.silu(F.relu(x)),
    "of what has one": lambda x: torch.tanh(F.silu(x)),
    "added to": lambda x: F.silu(x) + 1.5 * x,
    "a sigmoid that is used again": lambda x: x * torch.sigmoid(x) + torch.sigmoid(x).sum(-1, keepdim=True),
    "the sigmoid of another": lambda x: x * torch.sigmoid(x + 1),
    "the sigmoid's square": lambda x: torch.sigmoid(x) ** 2 * x,
    "twice": lambda x: F.silu(x) * F.hardswish(x),
}
LAYERS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "1 x 1": lambda: (nn.Conv2d(5, 33, 1), (2, 5, 7, 9)),
    "1 x 1 of few channels": lambda: (nn.Conv2d(5, 3, 1), (1, 5, 5, 3)),
    "with a stride": lambda: (nn.Conv2d(3, 37, 3, 2, 1), (1, 3, 13, 14)),
    "3 x 3": lambda: (nn.Conv2d(4, 33, 3, padding=1), (1, 4, 6, 7)),
    "depthwise": lambda: (nn.Conv2d(19, 19, 3, padding=1, groups=19), (2, 19, 7, 9)),
    "depthwise, rows together": lambda: (nn.Conv2d(24, 24, 3, padding=1, groups=24), (2, 24, 8, 9)),
    "depthwise 5 x 5, rows together": lambda: (nn.Conv2d(40, 40, 5, padding=2, groups=40), (1, 40, 7, 8)),
    "depthwise 5 x 5": lambda: (nn.Conv2d(35, 35, 5, 2, 2, groups=35), (1, 35, 9, 8)),
    "depthwise 9 x 9": lambda: (nn.Conv2d(18, 18, 9, padding=4, groups=18), (1, 18, 9, 8)),
    "depthwise, twice as many": lambda: (nn.Conv2d(6, 12, 3, padding=1, groups=6), (1, 6, 9, 8)),
    "of one channel": lambda: (nn.Conv2d(1, 1, 1), (1, 1, 9, 8)),
    "linear": lambda: (nn.Linear(21, 45), (3, 5, 21)),
    "linear of nothing": lambda: (nn.Linear(21, 45), (0, 21)),
}


def _method(model: nn.Module, inputs: Tensors, dynamic: object = None) -> Callable[[Tensors], list[torch.Tensor]]:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute


def _assert_close(result: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(result, expected, **LAYER, equal_nan=True)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "name"), [*((kind, "silu") for kind in LAYERS), *(("depthwise", name) for name in ACTIVATIONS)]
)
def test_a_fused_activation_gives_the_bits_of_a_separate_one(kind: str, name: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS[kind]()
    inputs = (4 * torch.randn(shape),)
    fused = _method(_Activated(layer, ACTIVATIONS[name]), inputs)
    apart = _method(_Activated(layer, ACTIVATIONS[name], shows=True), inputs)
    (result,), (of_two, _) = fused(inputs), apart(inputs)
    torch.testing.assert_close(result, of_two, rtol=0, atol=0)
    _assert_close(result, ACTIVATIONS[name](layer(*inputs)))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_nan_and_infinity_stay(name: str) -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(3, 18, 1)
    x = torch.randn(1, 3, 5, 40)
    x[..., ::7], x[..., 1::11], x[..., 2::13], x[..., 3::9] = torch.nan, torch.inf, -torch.inf, 1e30
    (result,) = _method(_Activated(layer, ACTIVATIONS[name]), (x,))((x,))
    (of_two, activated) = _method(_Activated(layer, ACTIVATIONS[name], shows=True), (x,))((x,))
    torch.testing.assert_close(result, of_two, **relative(ONE_ROUNDING), equal_nan=True)
    assert result[activated.isnan()].isnan().all()
    if name != "gelu":  # XNNPACK's has zero where it is -inf times zero
        _assert_close(result, ACTIVATIONS[name](layer(x)))


@pytest.mark.parametrize("name", NEIGHBORS)
def test_other_values_of_a_fused_activation_match_eager(name: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS["1 x 1"]()
    inputs = (3 * torch.randn(shape),)
    (result,) = _method(_Activated(layer, NEIGHBORS[name]), inputs)(inputs)
    _assert_close(result, NEIGHBORS[name](layer(*inputs)))


def test_silu_without_a_preceding_layer_matches_eager() -> None:
    torch.manual_seed(0)
    x = torch.linspace(-110, 110, 4001)
    (result,) = _method(_Activated(nn.Identity(), lambda x: F.silu(F.silu(x) + x)), (x,))((x,))
    _assert_close(result, F.silu(F.silu(x) + x))


def test_a_layer_with_an_activation_runs_at_other_sizes_than_exported() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 20, 3, 2, 1), nn.Conv2d(20, 20, 3, padding=1, groups=20)
            self.third = nn.Conv2d(20, 40, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = F.hardswish(self.second(F.silu(self.first(x))))
            gate = torch.sigmoid(y.mean((2, 3), keepdim=True))
            return F.silu(self.third(y * gate))

    torch.manual_seed(0)
    model = Net()
    sizes = {0: torch.export.Dim("batch", min=1, max=4), 2: torch.export.Dim("height", min=3, max=24)}
    execute = _method(model, (torch.randn(3, 3, 11, 10),), {"x": sizes})
    for images, rows in ((3, 11), (1, 3), (4, 24), (2, 5), (3, 11)):
        x = torch.randn(images, 3, rows, 10)
        _assert_close(execute((x,))[0], model(x))


def test_half_precision_with_an_activation_matches_eager() -> None:
    torch.manual_seed(0)
    layer, x = nn.Conv2d(5, 33, 1).half(), torch.randn(2, 5, 7, 9).half()
    (result,) = _method(_Activated(layer, F.silu), (x,))((x,))
    torch.testing.assert_close(result, F.silu(layer(x)), **ROUNDED_ONCE[torch.float16])
