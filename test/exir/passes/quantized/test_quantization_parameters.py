# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Invalid scales and limits."""

import importlib

import pytest
import torch
from models.module_kinds import kind_of
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.error import VerificationError

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed


@pytest.mark.parametrize(
    ("scale", "low", "high", "message"),
    [
        (0.0, -128, 127, r"its scale is 0\.0, expected positive and finite"),
        (float("nan"), -128, 127, "its scale is nan, expected positive and finite"),
        (0.5, 5, 5, "its integers are from 5 to 5, expected quant_min < quant_max"),
    ],
)
def test_invalid_parameters_are_an_error_that_names_them(scale: float, low: int, high: int, message: str) -> None:
    def quantized(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, 0, low, high, torch.int8)

    kind = kind_of(quantized, (torch.ones(2),))
    with pytest.raises(VerificationError, match=message):
        to_edge(export(kind.module, kind.calls[0]))


def test_the_first_invalid_scale_of_channels_is_reported_by_index() -> None:
    class Channels(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scales", torch.tensor([0.5, float("inf"), -1.0]))
            self.register_buffer("zeros", torch.zeros(3, dtype=torch.int64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            quantize = torch.ops.quantized_decomposed.quantize_per_channel
            return quantize(x, self.scales, self.zeros, 0, -128, 127, torch.int8)

    with pytest.raises(VerificationError, match=r"its scales is inf \(index 1 of 3\)"):
        to_edge(export(Channels(), (torch.ones(3, 2),)))
