# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs that rely on the strides of eager's tensors give the same results after lowering."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.tolerances import LAYER
from torch.export import Dim, export

from executorch.exir import to_edge

X = torch.randn(2, 17, 32)
Heads = Callable[[torch.Tensor], Any]


class OfAttention(torch.nn.Module):
    """Applies `rearrange` to the result of attention, whose heads are adjacent in eager's memory."""

    def __init__(self, rearrange: Heads) -> None:
        super().__init__()
        self.rearrange = rearrange

    def forward(self, x: torch.Tensor) -> Any:
        q = x.view(x.shape[0], x.shape[1], 4, 8).transpose(1, 2)
        return self.rearrange(torch.nn.functional.scaled_dot_product_attention(q, q, q))


def _joined(y: torch.Tensor) -> torch.Tensor:
    return y.transpose(1, 2).view(y.shape[0], y.shape[2], -1)


CASES: dict[str, Heads] = {
    "view": _joined,
    "reshape": lambda y: y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1),
    "view after arithmetic": lambda y: _joined((y * 2).relu()),
    "view that is written": lambda y: _joined(y).add_(1),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_view_of_attention_matches_eager(name: str, dynamic: bool) -> None:
    module = OfAttention(CASES[name])
    shapes = ({0: Dim("b", min=1, max=8), 1: Dim("t", min=2, max=40)},) if dynamic else None
    edge_module = to_edge(export(module, (X,), dynamic_shapes=shapes)).exported_program().module()
    torch.testing.assert_close(edge_module(X), module(X), **LAYER)


STRIDED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a transposed tensor": lambda x: x.t().as_strided((2, 3), (1, 4)),
    "a computed transposed tensor": lambda x: (x.t() + 1).as_strided((2, 3), (1, 4)),
    "a slice": lambda x: x[1:].as_strided((2, 3), (1, 4)),
}


@pytest.mark.parametrize("name", STRIDED)
def test_as_strided_matches_eager(name: str) -> None:
    module, x = Function(STRIDED[name]), torch.randn(4, 5)
    edge_module = to_edge(export(module, (x,))).exported_program().module()
    torch.testing.assert_close(edge_module(x), module(x))
