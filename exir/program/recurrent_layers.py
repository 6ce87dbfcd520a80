# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recurrent layers kept whole: PyTorch's decomposition writes out every step, for one length of sequence alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import global_decomposition_table

from executorch.exir.dialects import recurrent_ops

Decomposition = Callable[..., Any]


def _kept(name: str) -> Decomposition:
    layers = getattr(torch.ops.recurrent, name).default
    written_out: Decomposition = global_decomposition_table["post_autograd"][getattr(torch.ops.aten, name).input]

    def keep(
        input: torch.Tensor,
        hx: Any,
        params: list[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        if train and dropout > 0:  # between layers
            return written_out(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
        return layers(input, hx, params, has_biases, num_layers, bidirectional, batch_first)

    return keep


RECURRENT_DECOMPOSITIONS: dict[Any, Decomposition] = {
    getattr(torch.ops.aten, name).input: _kept(name) for name in recurrent_ops.LAYERS
}
