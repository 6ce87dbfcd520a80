# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Normalizations and sums with masks stay in float: one scale for all their values would lose the small ones."""

import pytest
import torch
from oracle.tolerances import INT8_MODEL, LAYER, of_largest
from torch import nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config


class _Masked(nn.Module):
    """Scores with a mask that is a buffer, computed from one, or computed from an input."""

    def __init__(self, kind: str, least: float) -> None:
        super().__init__()
        self.kind, self.least = kind, least
        self.is_seen: torch.Tensor
        self.mask: torch.Tensor
        self.register_buffer("is_seen", torch.ones(4, 4).tril())
        self.register_buffer("mask", torch.where(self.is_seen > 0, 0.0, least))

    def forward(self, scores: torch.Tensor, is_seen: torch.Tensor) -> torch.Tensor:
        if self.kind == "buffer":
            return (scores + self.mask).softmax(-1)
        if self.kind == "computed":
            return (scores + (1 - self.is_seen) * self.least).softmax(-1)
        if self.kind == "where":
            return (scores + torch.where(is_seen > 0, 0.0, self.least)).softmax(-1)
        if self.kind == "filled in place":
            return (scores + torch.zeros_like(is_seen).masked_fill_(is_seen == 0, self.least)).softmax(-1)
        if self.kind == "many numbers":
            return (scores + torch.full((4, 4), self.least) * (is_seen == 0)).softmax(-1)
        return (scores + (1 - is_seen) * self.least).softmax(-1)


class _RootMeanSquare(nn.Module):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.weight = nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.form == "rsqrt of pow":
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        if self.form == "pow of product":
            return x * torch.pow((x * x).mean(-1, keepdim=True) + 1e-6, -0.5) * (1 + self.weight)
        root = torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        if self.form == "shifted root":
            return x / (root + 1e-6)
        if self.form == "product with 1 / sqrt":
            return x * (1 / root)
        return x / root * self.weight + self.weight


class _FrozenBatchNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.variance: torch.Tensor
        self.register_buffer("variance", torch.rand(1, 4, 1, 1) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (self.variance + 1e-5).rsqrt() + 1.0


def _quantized(module: nn.Module, *inputs: torch.Tensor) -> torch.fx.GraphModule:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(export(module.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


@pytest.mark.filterwarnings("ignore:nothing of the model is quantized")
@pytest.mark.parametrize("least", [-100.0, -3e38])
@pytest.mark.parametrize("kind", ["buffer", "computed", "where", "filled in place", "many numbers", "input"])
def test_scores_keep_their_precision_beside_a_mask(kind: str, least: float) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(1, 2, 4, 4), torch.ones(4, 4).tril()
    module = _Masked(kind, least)
    torch.testing.assert_close(_quantized(module, *inputs)(*inputs), module(*inputs), **LAYER)


@pytest.mark.filterwarnings("ignore:nothing of the model is quantized")
@pytest.mark.parametrize(
    "form", ["rsqrt of pow", "pow of product", "quotient by sqrt", "shifted root", "product with 1 / sqrt"]
)
def test_tokens_of_other_magnitudes_are_normalized_alike(form: str) -> None:
    torch.manual_seed(0)
    module, x = _RootMeanSquare(form).eval(), torch.randn(1, 6, 8) * torch.logspace(-3, 3, 6).reshape(1, 6, 1)
    with torch.no_grad():
        torch.testing.assert_close(_quantized(module, x)(x), module(x), **LAYER)


def test_factors_of_a_frozen_batch_norm_are_no_normalization() -> None:
    torch.manual_seed(0)
    module, x = _FrozenBatchNorm().eval(), torch.randn(1, 4, 3, 3)
    converted = _quantized(module, x)
    computed = {
        str(node.args[0].target)
        for node in converted.graph.nodes
        if "quantized_decomposed.quantize_per_tensor" in str(node.target)
    }
    assert {"aten.mul.Tensor", "aten.add.Tensor"} <= computed
    expected = module(x)
    torch.testing.assert_close(converted(x), expected, **of_largest(expected, INT8_MODEL))


def test_a_bias_of_large_numbers_is_no_mask() -> None:
    class Shifted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.tensor([-123.7, -116.3, -103.5]).reshape(1, 3, 1, 1)

    converted = _quantized(Shifted(), 255 * torch.rand(1, 3, 4, 4))
    assert any("quantize_per_tensor" in str(node.target) for node in converted.graph.nodes)


def test_numbers_below_zero_that_relu_removes_are_no_mask() -> None:
    class Gated(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + torch.relu(y * -100.0)

    converted = _quantized(Gated(), torch.randn(1, 4), torch.randn(1, 4))
    computed = {str(node.args[0].target) for node in converted.graph.nodes if "quantize_per_tensor" in str(node.target)}
    assert "aten.add.Tensor" in computed


@pytest.mark.filterwarnings("ignore:nothing of the model is quantized")
def test_a_sum_with_a_complex_parameter_stays_as_it_is() -> None:
    class Rotated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.angle = nn.Parameter(torch.randn(4, dtype=torch.complex64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.angle

    module, x = Rotated().eval(), torch.randn(4, dtype=torch.complex64)
    assert torch.equal(_quantized(module, x)(x), module(x))


@pytest.mark.filterwarnings("ignore:nothing of the model is quantized")
def test_looking_for_masks_leaves_the_model_as_it_is() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mask: torch.Tensor
            self.register_buffer("mask", torch.ones(4, 4).triu(1))

        def forward(self, scores: torch.Tensor) -> torch.Tensor:
            return scores + self.mask.view(4, 4).mul(-1e4).add_(0.0).view(1, 4, 4)

    module, scores = Scaled().eval(), torch.randn(1, 4, 4)
    expected = module(scores)
    torch.testing.assert_close(_quantized(module, scores)(scores), expected, **LAYER)
    assert torch.equal(module.mask, torch.ones(4, 4).triu(1))
