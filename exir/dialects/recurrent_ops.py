# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `recurrent::…`: stacks of recurrent layers as one call. PyTorch's decomposition unrolls each time step.

`recurrent::lstm`, `gru`, `rnn_tanh`, `rnn_relu` take the arguments of `aten::lstm.input` without those for training:
- input: (steps, batch, features), or (batch, steps, features) with batch_first;
- hx: states (layers * directions, batch, size); for the LSTM, a list of the hidden state and the cell state;
- params: for each layer and direction, weights of the input and of the hidden state, both biases if has_biases, and
  weights of the projection if the two states differ in size.
They return the hidden states of the last layer, contiguous and with the input's order of dimensions, and the final
states. With zero steps, the final states are the initial ones. All tensors have the same floating dtype.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

library = torch.library.Library("recurrent", "DEF")

_REST = "Tensor[] params, bool has_biases, int num_layers, bool bidirectional, bool batch_first"
_TWO_OUT = "*, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"
_THREE_OUT = "*, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))"
LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _states_schema(name: str) -> str:
    return "Tensor[] hx" if name == "lstm" else "Tensor hx"


def _output(
    input: torch.Tensor, states: list[torch.Tensor], bidirectional: bool, batch_first: bool
) -> list[torch.Tensor]:
    width = states[0].shape[2] * (2 if bidirectional else 1)
    finals = [input.new_empty(state.shape) for state in states]
    return [input.new_empty([input.shape[0], input.shape[1], width]), *finals]


def _states(hx: torch.Tensor | list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the initial states, [layers, batch, width] each: two of an LSTM, else one."""
    return [hx] if isinstance(hx, torch.Tensor) else list(hx)


def _compute(name: str) -> Callable[..., tuple[torch.Tensor, ...]]:
    layers: Callable[..., tuple[torch.Tensor, ...]] = getattr(torch, name)

    def compute(
        input: torch.Tensor,
        hx: torch.Tensor | list[torch.Tensor],
        params: list[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[torch.Tensor, ...]:
        if input.shape[1 if batch_first else 0] == 0:  # PyTorch refuses it
            states = _states(hx)
            empty, *_ = _output(input, states, bidirectional, batch_first)
            return (empty, *(state.clone() for state in states))
        results = layers(input, hx, params, has_biases, num_layers, 0.0, False, bidirectional, batch_first)
        return tuple(tensor.contiguous() for tensor in results)

    return compute


def _fake() -> Callable[..., tuple[torch.Tensor, ...]]:
    def fake(
        input: torch.Tensor,
        hx: torch.Tensor | list[torch.Tensor],
        params: list[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[torch.Tensor, ...]:
        return tuple(_output(input, _states(hx), bidirectional, batch_first))

    return fake


def _write(name: str) -> Callable[..., tuple[torch.Tensor, ...]]:
    compute = _compute(name)

    def write(*args: object, **outs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        for out, result in zip(outs.values(), compute(*args), strict=True):
            out.resize_(result.shape).copy_(result)
        return tuple(outs.values())

    return write


def _given(*_: object, **outs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(outs.values())


for _name in LAYERS:
    _results = "(Tensor, Tensor, Tensor)" if _name == "lstm" else "(Tensor, Tensor)"
    library.define(f"{_name}(Tensor input, {_states_schema(_name)}, {_REST}) -> {_results}")
    library.define(
        f"{_name}.out(Tensor input, {_states_schema(_name)}, {_REST}, {_THREE_OUT if _name == 'lstm' else _TWO_OUT}"
    )
    library.impl(_name, _compute(_name), "CompositeExplicitAutograd")
    library.impl(f"{_name}.out", _write(_name), "CompositeExplicitAutograd")
    torch.library.register_fake(f"recurrent::{_name}", _fake(), lib=library)
    torch.library.register_fake(f"recurrent::{_name}.out", _given, lib=library)
