# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Autograd-safe ATen holds what torch.export makes of a model, and nothing whose gradient PyTorch does not know."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export

from executorch.exir.error import VerificationError
from executorch.exir.verification.verifier import AutogradSafeATenVerifier

X = torch.randn(2, 3, 8, 8)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.norm = nn.LayerNorm(3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.norm(self.layers(x))
        y.mul_(2.0)
        return torch.cond(y.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (y,)), y.argmax(-1)


class Calls(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("train", [True, False])
def test_an_exported_model_is_autograd_safe(train: bool) -> None:
    program = export(Net().train(train), (X,))
    AutogradSafeATenVerifier()(program)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.ops.aten.sin.out(x, out=torch.empty_like(x)),
        lambda x: torch.ops.aten.native_group_norm_backward(
            x, x, x[:, 0, :1, 0], x[:, 0, :1, 0], None, 2, 3, 64, 1, [True, False, False]
        )[0],
    ],
    ids=["out variant", "no second derivative"],
)
def test_an_operator_without_derivative_is_refused_with_its_place(function: Any) -> None:
    program = export(Calls(function), (X,))
    with pytest.raises(VerificationError, match=r"AUTOGRAD_SAFE_ATEN.*test_autograd_rules.py.*not differentiable"):
        AutogradSafeATenVerifier()(program)
