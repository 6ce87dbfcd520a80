# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Large outputs are returned without a copy. Later calls must not change them, and state must not be lost."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from executorch.exir import to_edge
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from executorch.runtime import Method, Runtime

N = 200  # 160 kB


class Product(nn.Module):
    """The output has memory of its own."""

    def forward(self, x: torch.Tensor) -> Any:
        return x @ torch.full((N, N), 1 / N) + torch.ones(())


class Flipped(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.flip(x, (0, 1))


class Chain(nn.Module):
    """The output may reuse the memory of an intermediate."""

    def forward(self, x: torch.Tensor) -> Any:
        return torch.tanh(torch.exp(-(x + 1).abs()) * 2 + x)


class Several(nn.Module):
    """A result twice, an input, a view of a result, an item of a list."""

    def forward(self, x: torch.Tensor) -> Any:
        y = x * 2
        parts = torch.split(torch.cat([y, x - 1]), N)
        return y, y, x, y.view(-1), parts[1], (x + 3).sum()


class State(nn.Module):
    """The output is the state, which the next call reads."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(N, N))

    def forward(self, x: torch.Tensor) -> Any:
        self.total.add_(x)
        return self.total


class Before(State):
    """The output is the previous state."""

    def forward(self, x: torch.Tensor) -> Any:
        before = self.total.clone()
        self.total.add_(x)
        return before, self.total * 2


def program(model: nn.Module, dynamic: bool = False) -> bytes:
    sizes = {"x": {0: torch.export.Dim("rows", max=N)}} if dynamic else None
    exported = torch.export.export(model, (torch.ones(N, N),), dynamic_shapes=sizes)
    return to_edge(exported).to_executorch().buffer


def loaded(model: nn.Module, dynamic: bool = False) -> Method:
    return Runtime.get().load_program(program(model, dynamic)).load_method("forward")


def values_of(outputs: Any) -> list[torch.Tensor]:
    return [
        torch.as_tensor(output).clone() for output in (outputs if isinstance(outputs, (tuple, list)) else [outputs])
    ]


@pytest.mark.parametrize("kind", [Product, Flipped, Chain, Several, State, Before])
@pytest.mark.parametrize("as_torch", [False, True])
def test_later_calls_do_not_change_the_outputs_of_earlier_ones(kind: type[nn.Module], as_torch: bool) -> None:
    method, model = loaded(kind()), kind()
    kept, expected = [], []
    for seed in range(4):
        x = torch.rand(N, N, generator=torch.Generator().manual_seed(seed))
        kept.append(method.execute([x if as_torch else x.numpy()]))
        expected.append(values_of(model(x)))
        if seed == 1:
            del kept[-1], expected[-1]  # a later call may reuse its memory
    del method
    for outputs, values in zip(kept, expected, strict=True):
        torch.testing.assert_close(values_of(outputs), values)


def test_a_loop_that_keeps_the_last_output_needs_memory_for_two() -> None:
    method, places = loaded(Product()), set()
    x = np.ones((N, N), np.float32)
    for _ in range(6):
        output = method.execute([x])[0]
        places.add(np.asarray(output).ctypes.data)
    assert len(places) == 2


def test_an_output_can_be_the_next_input() -> None:
    method, x = loaded(Flipped()), np.arange(N * N, dtype=np.float32).reshape(N, N)
    first = x
    for step in range(5):
        (y,) = method.execute([x])
        np.testing.assert_array_equal(x, first if step % 2 == 0 else first[::-1, ::-1])
        x = y
    np.testing.assert_array_equal(x, first[::-1, ::-1])


def test_outputs_of_each_way_to_run_outlive_the_module() -> None:
    module = _load_for_executorch_from_buffer(program(Flipped()))
    ones = np.ones((N, N), np.float32)
    kept = [module.forward([ones])[0], module.forward([ones * 2], clone_outputs=False)[0]]
    kept.append(module.run_method("forward", [ones * 3])[0])
    kept.append(module.forward([ones * 4])[0])
    del module
    assert [output.max() for output in kept] == [1, 2, 3, 4]
    assert [output.min() for output in kept] == [1, 2, 3, 4]


def test_sizes_may_differ_from_call_to_call() -> None:
    method = loaded(Flipped(), dynamic=True)
    rows = (N, 3, N, 1, 77)
    kept = [method.execute([np.full((n, N), n, np.float32)])[0] for n in rows]
    for n, output in zip(rows, kept, strict=True):
        assert output.shape == (n, N)
        np.testing.assert_array_equal(output, n)
