# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Models whose weights torchao's `quantize_` made integers: on XNNPACK, and with only the kernels."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from oracle.tolerances import LAYER
from quantization.flow import lowered_on_xnnpack, run, sqnr
from torch import nn
from torchao.quantization import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.utils import unwrap_tensor_subclass

from executorch.backends.xnnpack.partition.config import MMConfig, ReLUConfig
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

FOUR, EIGHT = torch.int4, torch.int8
CONFIGS: dict[str, tuple[Any, float]] = {
    "8da4w": (Int8DynamicActivationIntxWeightConfig(weight_dtype=FOUR, weight_granularity=PerGroup(32)), 0.25),
    "8da8w": (Int8DynamicActivationIntxWeightConfig(weight_dtype=EIGHT, weight_granularity=PerAxis(0)), 0.35),
    "8da8w, products of integers": (Int8DynamicActivationInt8WeightConfig(), 1.1),
    "int8 weights": (IntxWeightOnlyConfig(weight_dtype=EIGHT, granularity=PerAxis(0)), 0.35),
    "int8 weights, first form": (Int8WeightOnlyConfig(), 0.35),
    "int4 weights": (IntxWeightOnlyConfig(weight_dtype=FOUR, granularity=PerGroup(32)), 1.1),
}
"""Configuration, and the largest accepted file size relative to float32. XNNPACK lacks products of float32 with 4-bit
integers."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", CONFIGS)
def test_weights_stay_integers(name: str) -> None:
    config, share = CONFIGS[name]
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64)), (torch.randn(3, 128),)
    changed = copy.deepcopy(model).eval()
    quantize_(changed, config)
    unwrap_tensor_subclass(changed)
    expected = changed(*x)
    exported = torch.export.export(changed, x)
    assert sqnr(expected, run(to_edge(exported), x)) > 35
    lowered = lowered_on_xnnpack(changed, x)
    assert sqnr(expected, run(lowered, x)) > 35
    if share > 1:  # the graph itself makes numbers of the integers; nothing is promised of its size
        return
    outside = [node for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert len(outside) == 2, [str(node.target) for node in outside]
    floats = 4 * sum(parameter.numel() for parameter in model.parameters())
    assert len(lowered.to_executorch().buffer) < share * floats + 4096


@pytest.mark.parametrize("name", ["8da4w", "8da8w", "int8 weights, first form"])
def test_weights_of_half_precision_stay_integers(name: str) -> None:
    config, share = CONFIGS[name]
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64)), (torch.randn(3, 128).half(),)
    model = model.eval().half()
    quantize_(model, config)
    unwrap_tensor_subclass(model)
    lowered = lowered_on_xnnpack(model, x)
    assert sqnr(model(*x).float(), run(lowered, x).float()) > 35
    outside = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    assert len(outside) == 2, outside
    assert len(lowered.to_executorch().buffer) < share * 4 * (128 * 256 + 256 * 64) + 8192


def test_products_of_four_bits_equal_eager_with_scales_in_bfloat16() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(96, 40)), (torch.randn(5, 96),)
    quantize_(model, CONFIGS["8da4w"][0])
    scale = model[0].weight.scale
    program = run(lowered_on_xnnpack(model, x), x)
    assert not torch.equal(scale, scale.bfloat16().float())
    scale.copy_(scale.bfloat16().float())
    torch.testing.assert_close(program, model(*x), **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 15, 17])
def test_each_row_has_its_own_parameters_however_many_rows_a_tile_has(rows: int) -> None:
    torch.manual_seed(0)
    model, x = nn.Linear(64, 40).eval(), (torch.randn(rows, 64),)
    quantize_(model, CONFIGS["8da4w"][0])
    found = run(lowered_on_xnnpack(model, x), x)
    assert all(sqnr(expected, row) > 35 for expected, row in zip(model(*x), found, strict=True))


def test_integer_weights_are_in_the_delegate_of_their_product() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(16, 8), nn.ReLU()).eval(), (torch.randn(3, 16),)
    quantize_(model, Int8WeightOnlyConfig())
    unwrap_tensor_subclass(model)
    exported = torch.export.export(model, x)

    choices: tuple[tuple[dict[str, Any], int], ...] = (
        ({"per_op_mode": True}, 4),
        ({"configs": [ReLUConfig]}, 1),
        ({"configs": [MMConfig]}, 1),
    )
    for settings, delegates in choices:
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(**settings)])
        calls = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
        assert sum("delegate" in call for call in calls) == delegates, calls
        assert torch.allclose(run(lowered, x), model(*x), **LAYER)


def test_models_of_bfloat16_with_weights_of_four_bits_are_lowered() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)), (torch.randn(3, 64).bfloat16(),)
    model = model.eval().bfloat16()
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=FOUR, weight_granularity=PerGroup(32)))
    lowered = lowered_on_xnnpack(model, x)
    assert any("delegate" in str(node.target) for node in lowered.exported_program().graph.nodes)
    assert sqnr(model(*x).float(), run(lowered, x).float()) > 30
