# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantized embedding tables stay integers in the file; rows are looked up before dequantization."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.tolerances import LAYER
from quantization.flow import run
from torch import nn
from torchao.quantization import IntxWeightOnlyConfig, quantize_
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer
from torchao.utils import unwrap_tensor_subclass

from executorch.exir import EdgeProgramManager, to_edge

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

WORDS = torch.tensor([[1, 2, 99], [0, 50, 7]])


def _model(dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 3)).eval().to(dtype)


def _look_ups(edge: EdgeProgramManager) -> list[str]:
    names = [str(node.target) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    return [name.split(".")[1] for name in names if "embedding" in name or "dequantize" in name]


CONFIGS: dict[str, tuple[Any, str, float]] = {
    "int8 rows": (IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), "embedding_byte", 1),
    "int4 groups": (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), "embedding_4bit", 0.5),
    "int4 rows": (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerAxis(0)), "embedding_4bit", 0.5),
    "int3 rows": (IntxWeightOnlyConfig(weight_dtype=torch.int3, granularity=PerAxis(0)), "embedding_byte", 1),
    "int2 groups": (IntxWeightOnlyConfig(weight_dtype=torch.int2, granularity=PerGroup(16)), "embedding_2bit", 0.25),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_tables_that_torchao_made_integers_are_looked_up(name: str) -> None:
    config, operator, bytes_a_number = CONFIGS[name]
    model = _model()
    quantize_(model, config, lambda module, path: isinstance(module, nn.Embedding))
    unwrap_tensor_subclass(model)
    edge = to_edge(torch.export.export(model, (WORDS,)))
    assert _look_ups(edge) == [operator]
    torch.testing.assert_close(run(edge, (WORDS,)), model(WORDS))
    scales = 4 * 100 * (64 // config.granularity.group_size if isinstance(config.granularity, PerGroup) else 1)
    assert len(edge.to_executorch().buffer) < 6400 * bytes_a_number + scales + 4096


def test_tables_that_a_quantizer_made_integers_are_looked_up() -> None:
    model = _model()
    prepared = prepare_pt2e(torch.export.export(model, (WORDS,)).module(), EmbeddingQuantizer())
    prepared(WORDS)
    converted = convert_pt2e(prepared)
    edge = to_edge(torch.export.export(converted, (WORDS,)))
    assert _look_ups(edge) == ["embedding_byte"]
    torch.testing.assert_close(run(edge, (WORDS,)), converted(WORDS))


def test_a_table_with_two_readers_is_looked_up_once_and_multiplied_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(100, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(self.table(x), self.table.weight)

    torch.manual_seed(0)
    model = Tied().eval()
    quantize_(model, CONFIGS["int8 rows"][0], lambda module, path: isinstance(module, nn.Embedding))
    unwrap_tensor_subclass(model)
    edge = to_edge(torch.export.export(model, (WORDS,)))
    assert "embedding_byte" in _look_ups(edge)
    torch.testing.assert_close(run(edge, (WORDS,)), model(WORDS), **LAYER)
