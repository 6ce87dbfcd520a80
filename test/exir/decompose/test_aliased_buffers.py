# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors and buffers that share a buffer's memory."""

import torch

from executorch.exir import to_edge
from executorch.runtime import Runtime


class Keeper:
    """A plain object with a tensor attribute."""

    def __init__(self, tensor):
        self.tensor = tensor


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2))
        self.keeper = Keeper(self.count)
        self.other = Keeper(torch.ones(2))

    def forward(self, x):
        self.keeper.tensor.add_(x)
        return self.keeper.tensor + self.other.tensor


def test_a_write_to_memory_of_a_buffer_is_kept_for_the_next_call():
    exported = torch.export.export(Counter(), (torch.ones(2),), strict=False)
    assert any(spec.target and "lifted_tensor" in spec.target for spec in exported.graph_signature.input_specs)
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    x = torch.tensor([1.0, 2.0])
    assert method.execute((x,))[0].tolist() == [2.0, 3.0]
    assert method.execute((x,))[0].tolist() == [3.0, 5.0]


class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(3))

    def forward(self, x):
        self.rows[:2].add_(x)
        return self.rows * 2


class Sharing(torch.nn.Module):
    """A module that another one has too, so that its buffer has two names."""

    def __init__(self):
        super().__init__()
        self.first = Table()
        self.second = torch.nn.ModuleList([self.first])

    def forward(self, x):
        return self.second[0](x) + self.first(x)


def test_a_write_to_a_buffer_of_two_names_is_kept_for_the_next_call():
    exported = torch.export.export(Sharing(), (torch.ones(2),), strict=False)
    model, program = Sharing(), to_edge(exported).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    x = torch.tensor([1.0, 2.0])
    for _ in range(3):
        assert torch.equal(method.execute((x,))[0], model(x))
