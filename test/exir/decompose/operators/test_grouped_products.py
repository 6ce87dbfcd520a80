# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Grouped matrix products of mixtures of experts (torch's and transformers') stay one operator in the program."""

from __future__ import annotations

import pytest
import torch
from oracle.models.pipeline import assert_matches_eager
from oracle.tolerances import BFLOAT16_SUMS, LARGE_BFLOAT16_SUMS
from torch import nn

from executorch.exir import to_edge
from executorch.exir.report.cost import cost_of

OPERATOR = "grouped.grouped_mm.default"


class _Experts(nn.Module):
    """Rows sorted by expert, weights [experts, out, in] as transformers keeps them. torch takes only bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter((torch.randn(3, 16, 8) * 0.1).bfloat16())

    def forward(self, rows: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        return torch._grouped_mm(rows, self.weight.transpose(-2, -1), offs=offs)  # type: ignore[no-any-return]


class _Batched(nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return torch._grouped_mm(left, right)  # type: ignore[no-any-return]


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape).bfloat16()


def test_a_grouped_product_of_torch_is_one_operator_and_copies_no_weights() -> None:
    inputs = (_numbers(10, 8), torch.tensor([2, 2, 10], dtype=torch.int32))
    model = _Experts()
    program = to_edge(torch.export.export(model, inputs)).to_executorch()
    assert program.verdict.methods[0].kernels == {"grouped::grouped_mm.out": 1}
    assert_matches_eager(
        model, inputs, (_numbers(10, 8), torch.tensor([0, 9, 10], dtype=torch.int32)), atol=BFLOAT16_SUMS
    )


def test_a_batched_grouped_product_of_torch_is_a_batched_product() -> None:
    inputs = (_numbers(2, 8, 16), _numbers(2, 16, 8))
    program = to_edge(torch.export.export(_Batched(), inputs)).to_executorch()
    assert program.verdict.methods[0].kernels == {"aten::bmm.out": 1}
    assert_matches_eager(_Batched(), inputs, atol=LARGE_BFLOAT16_SUMS)


def test_a_model_of_transformers_with_experts_matches_eager() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.MixtralConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
    )
    torch.manual_seed(0)
    model = transformers.MixtralForCausalLM(config).eval()

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=ids, use_cache=False).logits  # type: ignore[no-any-return]

    inputs = (torch.randint(0, 64, (1, 9)),)
    program = to_edge(torch.export.export(Logits(), inputs, strict=False)).exported_program()
    products = [node for node in program.graph.nodes if OPERATOR in str(node.target)]
    assert len(products) == 2
    assert cost_of(products[0]).flops == 2 * 18 * 32 * 96
    assert_matches_eager(Logits(), inputs, (torch.randint(0, 64, (1, 9)),))
