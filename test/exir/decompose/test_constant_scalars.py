# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Scalars that a program reads from its constants are computed when lowering; those of its state are read."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import ExportedProgram, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class CausalConvolution(nn.Module):
    """A convolution whose padding follows from buffers and the length, as in transformers' Mimi."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv1d(4, 4, 5, stride=3)
        self.register_buffer("stride", torch.tensor(3), persistent=False)
        self.register_buffer("kernel_size", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):  # the second length follows from the first padding
            frames = torch.ceil((x.shape[-1] - self.kernel_size) / self.stride).to(torch.int64)
            extra = (frames * self.stride + self.kernel_size - x.shape[-1]).item()
            torch._check(extra >= 0)
            torch._check(extra < 5)
            x = F.elu(self.layer(F.pad(x, (2, extra))))
        return x


class Growing(nn.Module):
    """Repeats its input as often as its state says, which each call increases."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        size = self.count.item()
        torch._check(size >= 1)
        torch._check(size <= 9)
        return x.expand(size, 3) * 2


class SelectsRows(CausalConvolution):
    """Takes rows from a constant on, as many as another input says: torch does not know the size of the result."""

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        first, rows = self.stride.item(), count.item()
        torch._check(rows >= 0)
        torch._check(rows <= 4)
        return x[first : first + rows] * 2


class ReturnsScalar(CausalConvolution):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        stride = self.stride.item()
        return x * stride, stride + 1


class PassesSize(CausalConvolution):
    """Passes a tensor whose size is such a scalar to the branches of a condition."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size = self.stride.item()
        torch._check(size >= 1)
        torch._check(size < 5)
        return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (torch.ones(size),))


def forms_of(model: nn.Module, x: torch.Tensor) -> list[ExportedProgram]:
    program = export(model, (x,))
    return [program, program.run_decompositions({}), program.run_decompositions()]


@pytest.mark.sampled
@pytest.mark.parametrize("form", range(3), ids=["exported", "traced again", "decomposed"])
def test_convolutions_with_padding_computed_from_buffers_are_one_delegate(form: int) -> None:
    model, x = CausalConvolution().eval(), torch.randn(2, 4, 37)
    program = forms_of(model, x)[form]
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    (plan,) = lowered.executorch_program.execution_plan
    assert len(plan.delegates) == 1 and not plan.operators
    (output,) = Runtime.get().load_program(lowered.buffer).load_method("forward").execute([x])
    torch.testing.assert_close(output, model(x))


def test_a_scalar_of_state_is_read_in_each_call() -> None:
    model, x = Growing(), torch.arange(3.0)
    program = export(model, (x,))
    method = Runtime.get().load_program(to_edge_transform_and_lower(program).to_executorch().buffer)
    forward = method.load_method("forward")
    for _ in range(3):
        (output,) = forward.execute([x])
        torch.testing.assert_close(output, model(x))


@pytest.mark.parametrize("model", [ReturnsScalar(), PassesSize()])
def test_scalars_that_are_returned_and_sizes_of_control_flow_are_right(model: nn.Module) -> None:
    x = torch.arange(3.0)
    lowered = to_edge_transform_and_lower(export(model, (x,))).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for given in (x, -x):
        expected = model(given)
        found = method.execute([given])
        torch.testing.assert_close(tuple(found), expected if isinstance(expected, tuple) else (expected,))


def test_sizes_that_depend_on_a_constant_and_on_data_are_lowered() -> None:
    x = torch.randn(8, 3)
    program = export(SelectsRows().eval(), (x, torch.tensor(2)), strict=False)
    file = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    method = Runtime.get().load_program(file).load_method("forward")
    for rows in (2, 0, 4):
        torch.testing.assert_close(method.execute([x, torch.tensor(rows)])[0], x[3 : 3 + rows] * 2)
