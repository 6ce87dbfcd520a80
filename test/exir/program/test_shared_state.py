# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A method that only reads a buffer sees the updates of another method, delegated or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.export import export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

LOWERINGS: dict[str, Callable[..., EdgeProgramManager]] = {
    "to_edge": to_edge,
    "portable": to_edge_transform_and_lower,
    "XNNPACK": lambda programs: to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()]),
    "to_backend": lambda programs: to_edge(programs).to_backend(XnnpackPartitioner()),
}


class Count(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(1))
        self.register_buffer("scale", torch.arange(3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        self.scale.mul_(2)
        return x * self.scale


class Computes(Count):
    """Reads the buffer in calls that would be folded if it were a constant."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.scale * 2).relu()


class Repeats(Count):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size = self.count.item()
        torch._check(size >= 1)
        torch._check(size <= 9)
        return x.expand(size, 3) + 1


@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("reader", [Computes, Repeats])
def test_a_method_reads_the_buffers_that_another_one_updates(reader: type[Count], lowering: str) -> None:
    x, state = torch.ones(3), Count()
    edge = LOWERINGS[lowering]({"update": export(Count(), (x,)), "read": export(reader(), (x,))})
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    lowered = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    program = Runtime.get().load_program(lowered.buffer, share_memory_arenas=True)
    methods = {name: program.load_method(name) for name in ("update", "read")}
    for _ in range(3):
        torch.testing.assert_close(methods["update"].execute([x])[0], state(x))
        torch.testing.assert_close(methods["read"].execute([x])[0], reader.forward(state, x))


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_without_sharing_each_method_keeps_the_first_value(lowering: str) -> None:
    x = torch.ones(3)
    edge = LOWERINGS[lowering]({"update": export(Count(), (x,)), "read": export(Computes(), (x,))})
    program = Runtime.get().load_program(edge.to_executorch().buffer)
    program.load_method("update").execute([x])
    torch.testing.assert_close(program.load_method("read").execute([x])[0], Computes()(x))
