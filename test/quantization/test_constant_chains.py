# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls that compute from constants alone stay in float."""

import pytest
import torch
from oracle.tolerances import INT8_MODEL, LAYER, of_largest
from torch import nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.quantizer.annotation import constants_of
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    NothingQuantizedError,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)


class _BiasAndMask(nn.Module):
    """Attention with a learned bias and a mask of -100, as windows that are shifted have."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(0.3 * torch.randn(1, 1, 4, 4))
        self.mask: torch.Tensor
        self.register_buffer("mask", torch.where(torch.ones(4, 4).tril() > 0, 0.0, -100.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=self.bias + self.mask)


class _AnglesOfPositions(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.ones(1, 4, 4).cumsum(1) * 6.28
        return x + (positions * 5).sin()


class _Written(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state: torch.Tensor
        self.register_buffer("state", torch.ones(1, 4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(x)
        return self.state + self.state


class _WrittenWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights: torch.Tensor
        self.register_buffer("weights", torch.ones(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.weights.copy_(x[0])
        return nn.functional.linear(x, self.weights)


def _quantized(module: nn.Module, x: torch.Tensor) -> torch.fx.GraphModule:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(export(module.eval(), (x,)).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


def _quantized_calls(graph_module: torch.fx.GraphModule) -> list[str]:
    """The operators whose result is quantized."""
    return [
        str(node.args[0].target)
        for node in graph_module.graph.nodes
        if "quantized_decomposed.quantize_per_tensor" in str(node.target) and node.args[0].op == "call_function"
    ]


@pytest.mark.filterwarnings("ignore:nothing of the model is quantized")
def test_a_bias_keeps_its_precision_beside_a_mask() -> None:
    torch.manual_seed(0)
    module, x = _BiasAndMask().eval(), torch.randn(1, 1, 4, 4)
    with torch.no_grad():
        torch.testing.assert_close(_quantized(module, x)(x), module(x), **LAYER)


def test_the_angles_of_positions_stay_in_float() -> None:
    torch.manual_seed(0)
    module, x = _AnglesOfPositions(), torch.randn(1, 4, 4)
    converted = _quantized(module, x)
    assert "aten.mul.Tensor" not in _quantized_calls(converted)
    assert "aten.add.Tensor" in _quantized_calls(converted)
    expected = module(x)
    torch.testing.assert_close(converted(x), expected, **of_largest(expected, INT8_MODEL))


def test_a_buffer_that_is_written_is_no_constant() -> None:
    converted = _quantized(_Written(), torch.ones(1, 4, 4))
    assert "aten.add.Tensor" in _quantized_calls(converted)


def test_weights_that_the_program_writes_stay_in_float() -> None:
    quantizer = XNNPACKQuantizer(strict=True).set_global(get_symmetric_quantization_config())
    captured = export(_WrittenWeights(), (torch.randn(1, 4, 4),)).module()
    with pytest.raises(NothingQuantizedError, match="its weights are computed, expected constants"):
        prepare_pt2e(captured, quantizer)


class Counter(nn.Module):
    """Counts its calls in buffers: in one directly, in another one through views of it."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("direct", "viewed", "read", "source"):
            self.register_buffer(name, torch.zeros(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.viewed.t()
        self.direct.add_(1)
        self.viewed.view(-1)[1:].add_(1)
        self.direct.copy_(self.source)
        return x + self.direct + before.t() + self.read.view(-1)[:3]


def test_a_buffer_that_is_written_through_a_view_is_no_constant() -> None:
    graph = torch.export.export(Counter(), (torch.ones(2, 3),)).module().graph
    constants = constants_of(graph)
    assert {str(node.target) for node in constants if node.op == "get_attr"} == {"read", "source"}
    assert [node for node in constants if node.target is torch.ops.aten.t.default] == []
