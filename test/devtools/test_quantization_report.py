# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The report of a quantized model shows how each layer runs; the most sensitive layer is left in float first."""

from __future__ import annotations

import json

import pytest
import torch
from oracle.tolerances import ONE_ROUNDING
from quantization.flow import lowered_on_xnnpack, quantized, sqnr
from torch import nn

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.devtools.quantization import leave_sensitive_layers_in_float, quantization_report
from executorch.exir import to_edge

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


class Model(nn.Module):
    """The second layer's weights are small except one, so that a common scale for all of them is poor."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.rough, self.last = nn.Linear(32, 32), nn.Linear(32, 5)
        with torch.no_grad():
            self.rough.weight *= 0.05
            self.rough.weight[0, 0] = 8

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.rough(self.first(x).flatten(1))))


def _data() -> list[tuple[torch.Tensor]]:
    torch.manual_seed(0)
    return [(torch.randn(4, 3, 4, 4),) for _ in range(2)]


def _quantizer() -> XNNPACKQuantizer:
    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config())


def _leave_last_result_in_float(converted: torch.fx.GraphModule) -> None:
    last = [node for node in converted.graph.nodes if "linear" in str(node.target)][-1]
    output = converted.graph.output_node()
    output.replace_input_with(output.all_input_nodes[0], last)
    converted.graph.eliminate_dead_code()
    converted.recompile()


def test_each_layer_is_reported_with_its_scheme_and_noise() -> None:
    torch.manual_seed(0)
    model, data = Model().eval(), _data()
    graph = torch.export.export(model, data[0]).module()
    converted = quantized(model, _quantizer().set_module_name("last", None), data)
    report = quantization_report(graph, converted, data)
    assert [(one.layer, one.scheme, one.weight_bits, one.operand_bits) for one in report.layers] == [
        ("first.0", "static", 8, 8),
        ("rough", "static", 8, 8),
        ("last", "float", 32, 32),
    ]
    first, rough, last = report.layers
    assert rough.sqnr < min(first.sqnr, last.sqnr)
    exact = torch.cat([model(*x) for x in data])
    assert report.sqnr == pytest.approx(sqnr(exact, torch.cat([converted(*x) for x in data])), abs=ONE_ROUNDING["atol"])
    assert "not configured for it" in last.why and json.loads(report.to_json())["layers"][1]["layer"] == "rough"
    lowered = quantization_report(graph, converted, data, lowered_on_xnnpack(converted, data[0]))
    assert {one.runs for one in lowered.layers} == {"delegated to XnnpackBackend"}
    assert "rough" in str(lowered) and "XnnpackBackend" in str(lowered)


def test_layers_on_integers_are_distinguished_from_dequantized_ones_with_the_reason() -> None:
    torch.manual_seed(0)
    model, data = Model().eval(), _data()
    graph = torch.export.export(model, data[0]).module()
    converted = quantized(model, _quantizer(), data)
    _leave_last_result_in_float(converted)
    layers = quantization_report(graph, converted, data, to_edge(torch.export.export(converted, data[0]))).layers
    assert [(one.layer, one.runs, one.why) for one in layers] == [
        ("first.0", "fused in quantized_fused::convolution", ""),
        ("rough", "fused in quantized_fused::linear", ""),
        ("last", "dequantized", "its result is not quantized"),
    ]


def test_float_fallbacks_inside_a_delegate_are_reported_with_the_reason() -> None:
    class Between(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.gate, self.last = nn.Conv2d(3, 8, 3), nn.Hardsigmoid(), nn.Conv2d(8, 4, 1)
            self.weights, self.left = nn.Softmax(1), nn.Conv2d(4, 4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.left(self.weights(self.last(self.gate(self.first(x)).relu())))

    torch.manual_seed(0)
    model, data = Between().eval(), _data()
    graph = torch.export.export(model, data[0]).module()
    converted = quantized(model, _quantizer().set_module_name("left", None), data)
    report = quantization_report(graph, converted, data, lowered_on_xnnpack(converted, data[0]))
    reasons = {(one.layer, one.operator.partition("::")[2].partition(".")[0]): one.why for one in report.in_float}
    assert reasons["gate", "div"] == reasons["weights", "_softmax"] == "XNNPACK lacks this operator on integers", (
        reasons
    )
    assert "fused with aten_clamp_default, is read as float" in reasons["gate", "add"]
    assert reasons["left", "convolution"] == "its operand aten__softmax_default is not quantized"
    assert not any(layer in ("first", "last") for layer, _ in reasons)
    assert [one.why for one in report.layers if one.layer == "left"] == [reasons["left", "convolution"]]
    assert "_softmax" in str(report) and len(json.loads(report.to_json())["in_float"]) == len(report.in_float)


def test_each_call_of_one_module_is_reported_separately() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(self.layer(x))

    torch.manual_seed(0)
    model, data = Twice().eval(), [(torch.randn(2, 8),)]
    graph = torch.export.export(model, data[0]).module()
    converted = quantized(model, _quantizer(), data)
    _leave_last_result_in_float(converted)
    layers = quantization_report(graph, converted, data, to_edge(torch.export.export(converted, data[0]))).layers
    assert [(one.layer, one.runs, one.why) for one in layers] == [
        ("layer", "fused in quantized_fused::linear", ""),
        ("layer", "dequantized", "its result is not quantized"),
    ]


def test_the_layer_that_costs_most_is_left_in_float() -> None:
    torch.manual_seed(0)
    choice = leave_sensitive_layers_in_float(Model(), _quantizer, _data(), budget=23)
    assert choice.left_in_float[0] == "rough" and len(choice.left_in_float) < 3
    assert choice.report.sqnr >= 23


def test_a_tensor_instead_of_the_inputs_of_a_call_is_refused() -> None:
    images = [x for (x,) in _data()]
    with pytest.raises(
        TypeError, match=r"data\[0\]: expected .* as a tuple \(x,\), found a tensor of shape \[4, 3, 4, 4\]"
    ):
        leave_sensitive_layers_in_float(Model(), _quantizer, images, budget=23)
