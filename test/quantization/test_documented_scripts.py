# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The scripts of the public documentation on quantization, on models of a few layers."""

from __future__ import annotations

import pytest
import torch
from quantization.flow import sqnr
from torch import nn
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def _model() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(*layers, nn.Linear(8, 10)).eval()


def _run(program: ExecutorchProgramManager, *inputs: torch.Tensor) -> torch.Tensor:
    return Runtime.get().load_program(program.buffer).load_method("forward").execute(list(inputs))[0]


def test_the_flow_of_the_page_on_xnnpack() -> None:
    model, sample_inputs = _model(), (torch.randn(1, 3, 16, 16),)
    qparams = get_symmetric_quantization_config(is_per_channel=True)
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(qparams)
    training_ep = torch.export.export(model, sample_inputs).module()
    prepared_model = prepare_pt2e(training_ep, quantizer)
    for cal_sample in [sample_inputs[0], torch.randn(1, 3, 16, 16)]:
        prepared_model(cal_sample)
    quantized_model = convert_pt2e(prepared_model)
    et_program = to_edge_transform_and_lower(
        torch.export.export(quantized_model, sample_inputs), partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    assert sqnr(model(*sample_inputs), _run(et_program, *sample_inputs)) > 20


def test_the_flow_of_the_page_on_language_models() -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.layers = (
                nn.Embedding(50, 64),
                nn.Sequential(nn.Linear(64, 96), nn.SiLU(), nn.Linear(96, 64)),
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers(self.table(x))

    torch.manual_seed(0)
    eager_model, inputs = Words().eval(), (torch.tensor([[3, 1, 49]]),)
    exact = eager_model(*inputs)
    embedding_config = IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0))
    quantize_(eager_model, embedding_config, lambda m, fqn: isinstance(m, torch.nn.Embedding))
    linear_config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    quantize_(eager_model, linear_config)
    lowered = to_edge_transform_and_lower(
        torch.export.export(eager_model, inputs),
        partitioner=[XnnpackPartitioner()],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    names = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert sum("embedding_byte" in name for name in names) == 1 and sum("delegate" in name for name in names) == 1
    assert not any("linear" in name or "addmm" in name for name in names)
    found = _run(lowered.to_executorch(), *inputs)
    assert sqnr(eager_model(*inputs), found) > 35 and sqnr(exact, found) > 15
