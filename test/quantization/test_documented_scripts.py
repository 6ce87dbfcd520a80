# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The scripts of the public documentation on quantization, on models of a few layers."""

from __future__ import annotations

import pytest
import torch
from quantization.flow import sqnr
from torch import nn
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_

from executorch.backends.transforms.duplicate_dynamic_quant_chain import DuplicateDynamicQuantChainPass
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer_utils import (
    OP_TO_ANNOTATOR,
    get_weight_qspec,
    propagate_annotation,
)
from executorch.backends.xnnpack.recipes import XNNPackRecipeType
from executorch.backends.xnnpack.utils.configs import get_xnnpack_edge_compile_config
from executorch.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.export import ExportRecipe, export
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
        compile_config=get_xnnpack_edge_compile_config(),
    )
    names = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert sum("embedding_byte" in name for name in names) == 1 and sum("delegate" in name for name in names) == 1
    assert not any("linear" in name or "addmm" in name for name in names)
    output = _run(lowered.to_executorch(), *inputs)
    assert sqnr(eager_model(*inputs), output) > 35 and sqnr(exact, output) > 15


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_weights_left_to_be_quantized_while_running_are_integers_of_one_delegate(is_dynamic: bool) -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image, self.queries, self.keys = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 64), nn.Linear(8, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows = self.image(x).relu().flatten(2).transpose(1, 2)
            return self.queries(rows) * self.keys(rows)

    torch.manual_seed(0)
    model, inputs = Attention().eval(), (torch.randn(1, 3, 6, 6),)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    m = prepare_pt2e(torch.export.export(model, inputs).module(), XNNPACKQuantizer().set_global(config))
    m(*inputs)
    m = convert_pt2e(m, fold_quantize=False)
    DuplicateDynamicQuantChainPass()(m)
    chosen = [node for node in m.graph.nodes if "choose_qparams" in str(node.target)]
    assert len(chosen) == (3 if is_dynamic else 0)
    lowered = to_edge_transform_and_lower(
        torch.export.export(m, inputs),
        partitioner=[XnnpackPartitioner()],
        compile_config=get_xnnpack_edge_compile_config(),
    )
    names = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert names == ["executorch_call_delegate", "<built-in function getitem>"]
    program = lowered.to_executorch()
    assert len(program.buffer) < 8_500  # the weights are 4,960 bytes in float32
    assert sqnr(m(*inputs).detach(), _run(program, *inputs)) > 30


@pytest.mark.sampled
@pytest.mark.parametrize("recipe", XNNPackRecipeType, ids=lambda kind: kind.name)
def test_a_recipe_quantizes_and_delegates(recipe: XNNPackRecipeType) -> None:
    torch.manual_seed(0)
    model, inputs = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)).eval(), (torch.randn(4, 64),)
    exact = model(*inputs)
    session = export(model, [inputs], ExportRecipe.get_recipe(recipe))
    names = [str(node.target) for node in session.get_edge_program_manager().exported_program().graph.nodes]
    assert not any("dequantize" in name or "linear" in name for name in names)
    assert sqnr(exact, session.run_method("forward", inputs)[0]) > (15 if "INT4" in recipe.name else 30)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["static", "dynamic", "four bits"])
def test_linear_layers_that_to_edge_took_apart_are_delegated_on_integers(kind: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32, bias=False)).eval()
    inputs = (torch.randn(2, 3, 64),)
    if kind == "four bits":
        quantize_(model, Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(32)))
    else:
        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=kind == "dynamic")
        prepared = prepare_pt2e(torch.export.export(model, inputs).module(), XNNPACKQuantizer().set_global(config))
        prepared(*inputs)
        model = convert_pt2e(prepared)
    edge = to_edge(torch.export.export(model, inputs), compile_config=get_xnnpack_edge_compile_config())
    lowered = edge.to_backend(XnnpackPartitioner())
    names = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert names == ["executorch_call_delegate", "<built-in function getitem>"]
    program = lowered.to_executorch()
    assert len(program.buffer) < 12_000  # the weights are 24,576 bytes in float32
    assert sqnr(model(*inputs).detach(), _run(program, *inputs)) > 30


def test_a_recipe_has_the_given_group_size() -> None:
    grouped = XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR
    recipe = ExportRecipe.get_recipe(grouped, group_size=64)
    assert recipe.quantization_recipe.ao_quantization_configs[0].ao_base_config.weight_granularity == PerGroup(64)
    with pytest.raises(ValueError, match="group_size must be a positive integer, found 'all'"):
        ExportRecipe.get_recipe(grouped, group_size="all")


def test_a_custom_quantizer_uses_the_parts_of_ours() -> None:
    config = get_symmetric_quantization_config(is_per_channel=True)
    assert get_weight_qspec(config) is config.weight
    groups: list[list[str]] = []

    class Mine(Quantizer):
        def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            for name in ("conv_relu", "linear", "add"):
                groups.extend([node.name for node in group] for group in OP_TO_ANNOTATOR[name](model, config))
            propagate_annotation(model)
            return model

        def validate(self, model: torch.fx.GraphModule) -> None: ...

    layers = (nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 4))
    model, inputs = nn.Sequential(*layers).eval(), (torch.randn(1, 3, 3, 3),)
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), Mine())
    prepared(*inputs)
    assert groups == [["conv2d", "relu"], ["linear"]]
    assert sqnr(model(*inputs), convert_pt2e(prepared)(*inputs)) > 20
