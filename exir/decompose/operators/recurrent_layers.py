# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Preserve recurrent layers: PyTorch's decomposition unrolls their steps, for a single sequence length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch._decomp import global_decomposition_table
from torch._ops import OpOverload

from executorch.exir.dialects import recurrent_ops

Decomposition = Callable[..., object]


def _kept(name: str) -> Decomposition:
    layers = getattr(torch.ops.recurrent, name).default
    written_out: Decomposition = global_decomposition_table["post_autograd"][getattr(torch.ops.aten, name).input]

    def keep(
        input: torch.Tensor,
        hx: object,
        params: list[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> object:
        if train and dropout > 0:  # between layers
            return written_out(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
        return layers(input, hx, params, has_biases, num_layers, bidirectional, batch_first)

    return keep


RECURRENT_DECOMPOSITIONS: dict[OpOverload, Decomposition] = {
    getattr(torch.ops.aten, name).input: _kept(name) for name in recurrent_ops.LAYERS
}


def _with_any_length(name: str, layers: Decomposition) -> Decomposition:
    def call(input: torch.Tensor, hx: object, params: object, *options: object) -> object:
        if isinstance(params, torch.Tensor):  # a packed sequence: data, sizes of batches, states, …
            return layers(input, hx, params, *options)
        return RECURRENT_DECOMPOSITIONS[getattr(torch.ops.aten, name).input](input, hx, params, *options)

    return call


@contextmanager
def sequences_of_any_length() -> Iterator[None]:
    """Return a context in which torch.export.export supports dynamic sequence lengths of LSTM, GRU and RNN layers:

        with sequences_of_any_length():
            exported = torch.export.export(model, (x,), dynamic_shapes=({1: Dim("steps", max=512)},))

    PyTorch unrolls the steps during export, even of layers that it preserves, which makes the length a constant.
    In this context, the modules call the operators `recurrent::…`, which cannot be trained. Not thread-safe.
    """
    functions = torch._VF
    before = {name: getattr(functions, name) for name in recurrent_ops.LAYERS}
    for name, layers in before.items():
        setattr(functions, name, _with_any_length(name, layers))
    try:
        yield
    finally:
        for name, layers in before.items():
            setattr(functions, name, layers)
