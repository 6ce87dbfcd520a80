# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Models that cannot be quantized well are refused, with the layer's name and advice."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from quantization.flow import quantized
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

from executorch.backends.xnnpack.quantizer.captured_sizes import SizesChanged
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    ZeroFactorsError,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge
from executorch.exir.error import VerificationError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ops = torch.ops.quantized_decomposed


class Scaled(nn.Module):
    """Quantizes with parameters as given."""

    def __init__(self, scale: float, rows: bool) -> None:
        super().__init__()
        self.scale, self.rows = scale, rows
        self.register_buffer("scales", torch.tensor([1.0, scale, 1.0]))
        self.register_buffer("zeros", torch.zeros(3, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limits = (-128, 127, torch.int8)
        if self.rows:
            return ops.dequantize_per_channel(x.to(torch.int8), self.scales, self.zeros, 0, *limits)
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, self.scale, 0, *limits), self.scale, 0, *limits)


class Inside(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("scale", [0.0, -0.5, math.inf, math.nan])
def test_invalid_scales_are_refused_at_export(scale: float, rows: bool) -> None:
    exported = torch.export.export(Inside(Scaled(scale, rows)), (torch.ones(3, 2),))
    with pytest.raises(
        VerificationError, match=rf"layer.*is {scale}.*expected positive and finite: calibrate"
    ) as found:
        to_edge(exported)
    assert len(found.value.findings) == (1 if rows else 2)


def _captured(model: nn.Module, x: torch.Tensor) -> torch.nn.Module:
    return torch.export.export(model, (x,)).module()


@pytest.mark.parametrize("is_qat", [False, True])
def test_inputs_of_other_sizes_than_captured_give_a_warning(is_qat: bool) -> None:
    config = get_symmetric_quantization_config(is_qat=is_qat)
    model = nn.Linear(4, 2).train(is_qat)
    prepare = prepare_qat_pt2e if is_qat else prepare_pt2e
    prepared = prepare(_captured(model, torch.ones(3, 4)), XNNPACKQuantizer().set_global(config))
    with pytest.warns(SizesChanged, match=r"\[5, 4\].*dynamic_shapes"):
        prepared(torch.ones(5, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SizesChanged)
        prepared(torch.ones(3, 4))
        converted = convert_pt2e(prepared)
        one_row = converted(torch.ones(3, 4))[:1]
    with pytest.warns(SizesChanged, match=r"\[7, 4\].*dynamic_shapes"):
        torch.testing.assert_close(converted(torch.ones(7, 4)), one_row.expand(7, 2))
    for strict in (False, True):
        exported = torch.export.export(converted, (torch.ones(3, 4),), strict=strict)
        torch.testing.assert_close(exported.module()(torch.ones(3, 4)), converted(torch.ones(3, 4)))


@pytest.mark.parametrize("strict", [False, True])
def test_an_export_may_have_other_sizes_than_the_capture(strict: bool) -> None:
    config = get_symmetric_quantization_config()
    prepared = prepare_pt2e(_captured(nn.Linear(4, 2), torch.ones(3, 4)), XNNPACKQuantizer().set_global(config))
    prepared(torch.ones(3, 4))
    converted = convert_pt2e(prepared)
    exported = torch.export.export(converted, (torch.ones(7, 4),), strict=strict)
    torch.testing.assert_close(exported.module()(torch.ones(7, 4)), converted(torch.ones(3, 4))[:1].expand(7, 2))


@pytest.mark.parametrize("strict", [False, True])
def test_a_size_that_the_capture_fixed_may_be_dynamic_in_the_export(strict: bool) -> None:
    config = get_symmetric_quantization_config()
    prepared = prepare_pt2e(_captured(nn.Linear(4, 2), torch.ones(3, 4)), XNNPACKQuantizer().set_global(config))
    prepared(torch.ones(3, 4))
    batch = {0: torch.export.Dim("batch", min=2, max=8)}
    converted = convert_pt2e(prepared)
    exported = torch.export.export(converted, (torch.ones(3, 4),), dynamic_shapes=(batch,), strict=strict)
    torch.testing.assert_close(exported.module()(torch.ones(7, 4)), converted(torch.ones(3, 4))[:1].expand(7, 2))


@pytest.mark.parametrize("in_float", [False, True])
def test_factors_of_batch_norms_that_are_zero_are_refused_for_training(in_float: bool) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3)), torch.randn(2, 3, 6, 6)
    config = get_symmetric_quantization_config(is_qat=True)
    with torch.no_grad():
        model[1].weight[2] = 0
    quantizer = XNNPACKQuantizer().set_global(config)
    if in_float:
        quantizer.set_module_name("0", None).set_module_name("1", None)
    with pytest.raises(ZeroFactorsError, match=r"module 1\): 1 of its 4 factors .* channel 2: .* NaN\. Train in float"):
        prepare_qat_pt2e(_captured(model, x), quantizer)
    with torch.no_grad():
        model[1].weight[model[1].weight == 0] = 1e-2
    prepared = prepare_qat_pt2e(_captured(model, x), XNNPACKQuantizer().set_global(config))
    prepared(x).square().mean().backward()
    assert all(bool(weight.grad.isfinite().all()) for weight in prepared.parameters() if weight.grad is not None)


def test_a_batch_that_varies_is_calibrated_with_any() -> None:
    batch = torch.export.Dim("batch", max=16)
    model = nn.Linear(4, 2).eval()
    captured = torch.export.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: batch},)).module()
    prepared = prepare_pt2e(captured, XNNPACKQuantizer().set_global(get_symmetric_quantization_config()))
    prepared(torch.rand(5, 4))
    converted = convert_pt2e(prepared)
    assert converted(torch.rand(9, 4)).shape == (9, 2)
    exported = torch.export.export(converted, (torch.ones(3, 4),), dynamic_shapes=({0: batch},))
    assert exported.module()(torch.rand(7, 4)).shape == (7, 2)


def test_a_layer_of_another_dtype_stays_in_float_beside_quantized_ones() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.single, self.other = nn.Linear(4, 4), nn.Linear(4, 4).double()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.other(self.single(x).double())

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    graph = quantized(Mixed(), quantizer, [(torch.rand(2, 4),)]).graph
    weights = [node.args[1].name for node in graph.nodes if "linear" in str(node.target)]
    assert ["dequantize" in name for name in weights] == [True, False]
