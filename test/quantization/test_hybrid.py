# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Int8 convolutions, dynamic int8 linear layers, a table of four bits and a float head in one program."""

from __future__ import annotations

import copy

import pytest
import torch
from quantization.flow import lowered_on_xnnpack, run, sqnr
from torch import nn
from torchao.quantization import IntxWeightOnlyConfig, PerGroup, quantize_
from torchao.utils import unwrap_tensor_subclass

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.devtools.quantization import leave_sensitive_layers_in_float, quantization_report

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


class Describer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2))
        self.words = nn.Embedding(200, 32)
        self.mix = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 32))
        self.head = nn.Linear(32, 1)

    def forward(self, image: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        seen = torch.relu(self.image(image)).mean((2, 3))[:, None].expand(-1, words.shape[1], -1)
        return self.head(self.mix(torch.cat([seen, self.words(words)], -1)))


def _quantizer() -> XNNPACKQuantizer:
    static = get_symmetric_quantization_config(is_per_channel=True)
    dynamic = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    return XNNPACKQuantizer().set_module_name("image", static).set_module_name("mix", dynamic)


def _models() -> tuple[nn.Module, nn.Module, list[tuple[torch.Tensor, ...]]]:
    """Without and with a table of four bits, and data."""
    torch.manual_seed(0)
    model = Describer().eval()
    changed = copy.deepcopy(model)
    config = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))
    quantize_(changed, config, lambda module, name: isinstance(module, nn.Embedding))
    unwrap_tensor_subclass(changed)
    return model, changed, [(torch.randn(1, 3, 16, 16), torch.randint(0, 200, (1, 6))) for _ in range(4)]


def test_a_hybrid_model_is_one_program_and_its_report_names_the_kind_of_each_part() -> None:
    model, changed, data = _models()
    choice = leave_sensitive_layers_in_float(changed, _quantizer, data, budget=5, reference=model)
    assert choice.left_in_float == ()
    lowered = lowered_on_xnnpack(choice.quantized, data[0])
    report = quantization_report(torch.export.export(model, data[0]).module(), choice.quantized, data, lowered)
    xnnpack = "delegated to XnnpackBackend"
    assert [(one.layer, one.scheme, one.weight_bits, one.operand_bits, one.runs) for one in report.layers] == [
        ("image.0", "static", 8, 8, xnnpack),
        ("image.3", "static", 8, 8, xnnpack),
        ("words", "weights only", 4, 32, "fused in quantized_decomposed::embedding_4bit"),
        ("mix.0", "dynamic", 8, 8, xnnpack),
        ("mix.2", "dynamic", 8, 8, xnnpack),
        ("head", "float", 32, 32, xnnpack),
    ]
    assert sqnr(choice.quantized(*data[0]), run(lowered, data[0])) > 30


def test_layers_of_a_hybrid_are_left_in_float_until_the_budget_is_met_or_cannot_be() -> None:
    _, changed, data = _models()
    found = leave_sensitive_layers_in_float(changed, _quantizer, data, budget=39)
    assert found.report.sqnr >= 39 and 0 < len(found.left_in_float) < 5
    model, changed, data = _models()
    with pytest.raises(ValueError, match="with no layer left to exclude, expected 60 dB"):
        leave_sensitive_layers_in_float(changed, _quantizer, data[:1], budget=60, at_once=5, reference=model)
