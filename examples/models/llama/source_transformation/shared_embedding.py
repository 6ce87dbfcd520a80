# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""An output layer whose quantized weights are the bytes of the embedding, so that a file has them once."""

from __future__ import annotations

import torch
from torch import nn

from executorch.extension.llm.export.quantize import swap_pairs


class PairSwappedLinear(nn.Module):
    """A linear layer without bias whose weights, and inputs, have the columns of each pair exchanged.

    The operators for 4-bit embeddings have the first integer of a byte in its high half, linear layers in its low half.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = nn.Linear(linear.in_features, linear.out_features, bias=False, dtype=linear.weight.dtype)
        self.linear.weight = nn.Parameter(swap_pairs(linear.weight.detach()), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Any leading dimensions."""
        result: torch.Tensor = self.linear(swap_pairs(x))
        return result


def share_output_layer(model: nn.Module, bits: int) -> nn.Module:
    """Give a decoder an output layer whose `bits`-bit integers can be the embedding's, in place. Returns the model."""
    output = model.output
    if bits == 4 and type(output) is nn.Linear and output.in_features % 2 == 0:
        model.output = PairSwappedLinear(output)
    return model
