# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The quantizer in torchao's flow up to a running program, and its refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from quantization.flow import lowered_on_xnnpack, quantized, run, sqnr
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.quantizer.observers import NotCalibrated
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    NothingQuantizedError,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*", "ignore::DeprecationWarning")


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU6(inplace=True))
        self.depthwise = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 16, 2, 2)
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        z = torch.relu(y + self.depthwise(y)) * 0.5
        wide = nn.functional.max_pool2d(torch.tanh(self.up(z)), 2)
        pooled = nn.functional.adaptive_avg_pool2d(torch.cat([z, wide], 1), 1)
        return self.head(pooled.flatten(1))


def images(count: int = 4) -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(1)
    return [(torch.randn(2, 3, 8, 8),) for _ in range(count)]


def operators(graph: torch.fx.Graph) -> list[str]:
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


@pytest.mark.sampled
@pytest.mark.parametrize("settings", [{}, {"is_per_channel": True}, {"is_per_channel": True, "is_qat": True}])
def test_a_convolutional_model_is_one_delegate_of_integers(settings: dict[str, bool]) -> None:
    torch.manual_seed(0)
    model = Images()
    with torch.no_grad():
        for norm in (model.first[1], model.depthwise[1]):
            norm.running_var.uniform_(0.5, 2)
    config = get_symmetric_quantization_config(**settings)
    converted = quantized(model, XNNPACKQuantizer().set_global(config), images(), is_qat=config.is_qat)
    reference = converted(*images()[0])
    if not config.is_qat:
        assert sqnr(model.eval()(*images()[0]), reference) > 20
    lowered = lowered_on_xnnpack(converted, images()[0])
    outside = operators(lowered.exported_program().graph)
    assert len([name for name in outside if "delegate" in name]) == 1 and len(outside) == 2, outside
    # A quantum of the result is at most 1/40 of its range's half; XNNPACK may differ by one where the graph rounds.
    assert sqnr(reference, run(lowered, images()[0])) > 25


@pytest.mark.parametrize("is_per_channel", [True, False], ids=["per channel", "per tensor"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_linear_layers_are_quantized_dynamically(dtype: torch.dtype, is_per_channel: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 10)).to(dtype)
    data = [(torch.randn(3, 64, dtype=dtype),) for _ in range(2)]
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=True)
    converted = quantized(model, XNNPACKQuantizer().set_global(config), data)
    lowered = lowered_on_xnnpack(converted, data[0])
    assert len(operators(lowered.exported_program().graph)) == 2
    output = run(lowered, data[0])
    assert output.dtype is dtype
    assert sqnr(model(*data[0]), output) > 35
    assert len(lowered.to_executorch().buffer) < 0.4 * 4 * sum(parameter.numel() for parameter in model.parameters())


def test_parts_are_configured_by_name_type_and_operator() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8)), nn.Conv1d(2, 2, 3))
    config = get_symmetric_quantization_config()
    left_out = XNNPACKQuantizer().set_global(config).set_module_name("1", None)
    by_type = XNNPACKQuantizer().set_module_type(nn.Conv1d, config)
    by_operator = XNNPACKQuantizer().set_operator_type(torch.ops.aten.linear, config)
    by_filter = XNNPACKQuantizer().set_global(config).set_filter_function(lambda node: "conv" in node.name)
    data = [(torch.randn(2, 2, 8),)]
    quantized_layers = []
    for quantizer in (left_out, by_type, by_operator, by_filter):
        graph = quantized(model, quantizer, data).graph
        weighted = [node for node in graph.nodes if "linear" in str(node.target) or "conv1d" in str(node.target)]
        quantized_layers.append(["dequantize" in node.args[1].name for node in weighted])
    assert quantized_layers == [[True, False, True], [False, False, True], [True, True, False], [False, False, True]]


def test_integer_operands_are_not_quantized() -> None:
    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.last = nn.Embedding(12, 8), nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(self.table(x + 2))

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    model, data = Positions(), [(torch.tensor([[0, 9]]),)]
    assert sqnr(model(*data[0]), quantized(model, quantizer, data)(*data[0])) > 25


class Sine(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


NOTHING: dict[str, tuple[nn.Module, XNNPACKQuantizer, torch.Tensor, str]] = {
    "no configuration": (nn.Linear(2, 2), XNNPACKQuantizer(strict=True), torch.ones(1, 2), "call set_global"),
    "no such module": (
        nn.Linear(2, 2),
        XNNPACKQuantizer(strict=True).set_module_name("elsewhere", get_symmetric_quantization_config()),
        torch.ones(1, 2),
        "no configuration matches it, or the filter excludes it",
    ),
    "no such operator": (
        Sine(),
        XNNPACKQuantizer(strict=True).set_global(get_symmetric_quantization_config()),
        torch.ones(1, 2),
        "none of the supported operators",
    ),
    "another dtype": (
        nn.Linear(2, 2).double(),
        XNNPACKQuantizer(strict=True).set_global(get_symmetric_quantization_config()),
        torch.ones(1, 2, dtype=torch.float64),
        "expected torch.float32",
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_quantizer_that_matches_nothing_reports_the_reason(name: str) -> None:
    model, quantizer, x, why = NOTHING[name]
    with pytest.raises(NothingQuantizedError, match=why):
        prepare_pt2e(torch.export.export(model.eval(), (x,)).module(), quantizer)


@pytest.mark.parametrize(
    ("quantizer", "why"),
    [
        (XNNPACKQuantizer(), "call set_global"),
        (XNNPACKQuantizer().set_global(get_symmetric_quantization_config()), "none of the supported operators"),
    ],
    ids=["no configuration", "no such operator"],
)
def test_a_quantizer_that_matches_nothing_warns_and_leaves_the_model_in_float(
    quantizer: XNNPACKQuantizer, why: str
) -> None:
    data = torch.randn(2, 3)
    captured: Any = torch.export.export(Sine(), (data,)).module()
    with pytest.warns(UserWarning, match=why):
        prepared = prepare_pt2e(captured, quantizer)
    torch.testing.assert_close(convert_pt2e(prepared)(data), torch.sin(data))


def _prepared() -> Any:
    model: Any = torch.export.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),)).module()
    return prepare_pt2e(model, XNNPACKQuantizer().set_global(get_symmetric_quantization_config()))


@pytest.mark.parametrize(("value", "why"), [(math.nan, "NaN"), (math.inf, "infinite")])
def test_calibration_with_infinity_or_nan_is_refused(value: float, why: str) -> None:
    prepared = _prepared()
    with pytest.raises(ValueError, match=why) as error:
        prepared(torch.tensor([[1.0, value]]))
        convert_pt2e(prepared)
    assert "linear" in str(error.value)


@pytest.mark.filterwarnings("ignore:must run observer")  # by torchao, about the weights
def test_a_model_that_was_not_calibrated_is_converted_with_a_warning() -> None:
    with pytest.warns(NotCalibrated, match=r"linear.* was never seen and gets a scale of 1.*: run the prepared model"):
        converted = convert_pt2e(_prepared())
    scales = [node.args[1] for node in converted.graph.nodes if "quantize_per_tensor" in str(node.target)]
    assert {float(scale) for scale in scales} == {1.0}


@pytest.mark.parametrize("limits", [{"act_qmin": 0, "act_qmax": 255}, {"weight_qmin": 7, "weight_qmax": -8}])
def test_limits_beyond_int8_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected qmin < qmax"):
        get_symmetric_quantization_config(**limits)
