# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every kind of operator that static quantization knows, after one convolution: all in one delegate, near eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.models.listing import operators_of
from oracle.tolerances import quanta
from quantization.flow import lowered_on_xnnpack, quantized
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

Kind = nn.Module | Callable[[torch.Tensor], torch.Tensor]


class Calls(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.forward = function  # type: ignore[method-assign]


def _kinds() -> dict[str, Kind]:
    """Case on a tensor of sizes (…, 8, 6, 6)."""
    half = torch.linspace(-1, 1, 36).reshape(6, 6)
    return {
        "convolution": nn.Conv2d(8, 6, 3),
        "convolution, norm, relu": nn.Sequential(nn.Conv2d(8, 6, 3), nn.BatchNorm2d(6), nn.ReLU()),
        "convolution, relu6": nn.Sequential(nn.Conv2d(8, 6, 1), Calls(F.relu6)),
        "convolution, norm, hardtanh": nn.Sequential(nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6), nn.Hardtanh(-0.2, 0.3)),
        "depthwise": nn.Sequential(nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.ReLU6()),
        "transposed": nn.ConvTranspose2d(8, 4, 3, 2, 1),
        "transposed, relu": nn.Sequential(nn.ConvTranspose2d(8, 4, 2, 2), nn.ReLU()),
        "linear": nn.Linear(6, 5),
        "linear, relu": nn.Sequential(nn.Linear(6, 5), nn.ReLU()),
        "add": lambda x: x + half,
        "add, relu": lambda x: F.relu(x + half),
        "add of a multiple": lambda x: torch.add(x, half, alpha=2),
        "sub": lambda x: x - half,
        "mul by itself": lambda x: x * x,
        "pixel shuffle": nn.PixelShuffle(2),
        "mul": lambda x: x * half,
        "cat": lambda x: torch.cat([x, x], 1),
        "max pooling": nn.MaxPool2d(2),
        "average pooling": nn.AvgPool2d(2),
        "padded average pooling": nn.AvgPool2d(3, 2, 1),
        "global average pooling": nn.AdaptiveAvgPool2d(1),
        "mean": lambda x: x.mean((2, 3)),
        "permute": lambda x: x.permute(0, 2, 3, 1),
        "view": lambda x: x.reshape(x.shape[0], -1),
        "slice": lambda x: x[:, 2:5],
        "pad": lambda x: F.pad(x, (1, 1, 2, 0)),
        "softmax": nn.Softmax(-1),
        "sigmoid": nn.Sigmoid(),
        "tanh": nn.Tanh(),
        "hardswish": nn.Hardswish(),
        "silu": nn.SiLU(),
        "gelu": nn.GELU(),
        "gelu by tanh": nn.GELU("tanh"),
        "leaky relu": nn.LeakyReLU(0.1),
        "elu": nn.ELU(),
        "clamp": lambda x: x.clamp(-0.3, 0.4),
        "resize to the nearest": nn.UpsamplingNearest2d(scale_factor=2),
        "resize": lambda x: F.interpolate(x, size=(9, 9), mode="bilinear"),
    }


IN_FLOAT = ("softmax",)
"""XNNPACK lacks such a node on integers, so the quantizer annotates its operand but not the node."""


class EveryKind(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        kinds = _kinds()
        self.layers = nn.ModuleList([layer for layer in kinds.values() if isinstance(layer, nn.Module)])
        self.calls = list(kinds.values())

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.first(x)
        return tuple(call(y) for call in self.calls)


@pytest.mark.parametrize("is_per_channel, batches", [(True, (1, 1)), (False, (3, 1, 4))], ids=["channels", "batches"])
def test_every_kind_of_operator_is_quantized_and_delegated(is_per_channel: bool, batches: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model, data = EveryKind(), [(torch.randn(batch, 3, 6, 6),) for batch in batches]
    shapes = ({0: torch.export.Dim("batch", max=4)},) if len({*batches}) > 1 else None
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel)
    converted = quantized(model, XNNPACKQuantizer().set_global(config), data, shapes=shapes)
    names = list(_kinds())
    results: Any = converted.graph.output_node().args[0]
    scales = [result.args[1] if "dequantize_per_tensor" in result.name else None for result in results]
    assert tuple(name for name, scale in zip(names, scales, strict=True) if scale is None) == IN_FLOAT
    lowered = lowered_on_xnnpack(converted, data[0], shapes)
    outside = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert [name for name in outside if "getitem" not in name] == ["executorch_call_delegate"]
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for inputs in data:
        found = method.execute(list(inputs))
        for name, scale, one, expected in zip(names, scales, found, converted(*inputs), strict=True):
            # The first convolution and the operator may each be off by a quantum, where the graph rounds a tie.
            quantum = scale if scale is not None else float(expected.detach().abs().max()) / 100
            message = f"{name}: off by {float((one - expected).detach().abs().max())}, a quantum is {quantum}"
            torch.testing.assert_close(one, expected, **quanta(quantum, 2), msg=message)


class GatedChannels(nn.Module):
    """A squeeze-and-excitation block, as in EfficientNet: the mean of each channel decides its factor."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.squeeze, self.excite = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.silu(self.first(x))
        factors = self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True)))).sigmoid()
        return (y * factors).mean((2, 3))


def test_channels_gated_by_silu_are_computed_in_int8(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, inputs = GatedChannels(), (torch.randn(1, 3, 8, 8),)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    lowered = lowered_on_xnnpack(quantized(model, quantizer, [inputs]), inputs)
    path = tmp_path / "gated.pte"
    path.write_bytes(lowered.to_executorch().buffer)
    conversions = [line for line in operators_of(path) if "float32" in line]
    assert len(conversions) == 2, conversions  # of the program's input and output
