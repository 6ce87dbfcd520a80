# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`torch.nn.attention.flex_attention` in exported programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.export import export
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

Tensor = torch.Tensor


def _causal(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return q >= k


class _Biased(nn.Module):
    """Attention with a bias of distances, whose slopes are a parameter, and causal if `is_masked`."""

    def __init__(self, is_masked: bool) -> None:
        super().__init__()
        self.slopes = nn.Parameter(torch.tensor([0.1, 0.5, 0.2, 0.3]))
        self.mask = create_block_mask(_causal, None, None, 6, 6, device="cpu") if is_masked else None

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        def biased(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return score + self.slopes[h] * (j - i)

        return flex_attention(q, k, k, score_mod=biased, block_mask=self.mask, enable_gqa=True)  # type: ignore[return-value]


def _portable(program: torch.export.ExportedProgram) -> bytes:
    return to_edge_transform_and_lower(program).to_executorch().buffer


def _delegated(program: torch.export.ExportedProgram) -> bytes:
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


@pytest.mark.sampled
@pytest.mark.parametrize("lower", [_portable, _delegated])
@pytest.mark.parametrize("is_masked", [False, True])
def test_flex_attention_has_eagers_result(is_masked: bool, lower: Callable[..., bytes]) -> None:
    inputs = (torch.randn(1, 4, 6, 8), torch.randn(1, 2, 6, 8))
    module = _Biased(is_masked).eval()
    with torch.no_grad():
        expected = module(*inputs)
        program = export(module, inputs)
    (found,) = Runtime.get().load_program(lower(program)).load_method("forward").execute(inputs)
    torch.testing.assert_close(torch.as_tensor(found), expected)
