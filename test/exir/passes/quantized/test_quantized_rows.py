# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Embeddings of quantized tables."""

import importlib

import pytest
import torch
from oracle.models.planned_graph import call_targets
from torch.export import export

from executorch.exir import to_edge

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed


class Table(torch.nn.Module):
    """Five rows of four int8 values, with a scale for each row or column."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis
        sizes = (5, 4)
        self.register_buffer("rows", torch.arange(20, dtype=torch.int8).view(sizes) - 10)
        self.register_buffer("scales", torch.linspace(0.1, 0.4, sizes[axis], dtype=torch.float64))
        self.register_buffer("zeros", torch.arange(sizes[axis]))

    def forward(self, places: torch.Tensor) -> torch.Tensor:
        dequantize = torch.ops.quantized_decomposed.dequantize_per_channel
        table = dequantize(self.rows, self.scales, self.zeros, self.axis, -128, 127, torch.int8)
        return torch.nn.functional.embedding(places, table)


@pytest.mark.parametrize(("axis", "is_fused"), [(0, True), (1, False)])
def test_a_table_with_a_scale_for_each_row_is_not_dequantized(axis: int, is_fused: bool) -> None:
    places = torch.tensor([[4, 0], [2, 2]])
    model = Table(axis)
    program = to_edge(export(model, (places,))).exported_program()
    assert any("embedding_byte" in target for target in call_targets(program)) is is_fused
    assert any("dequantize_per_channel" in target for target in call_targets(program)) is not is_fused
    torch.testing.assert_close(program.module()(places), model(places))
