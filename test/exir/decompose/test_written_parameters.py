# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parameters that a program updates are state, like buffers."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime


class Scaled(nn.Module):
    """Halves its weight in each call, then multiplies by it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(8.0), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.weight.mul_(0.5)
        self.weight[2:4].add_(1)
        return (x * self.weight).relu()


def embedding() -> nn.Module:
    return nn.Embedding(9, 5, max_norm=0.7)


MODELS = {
    "scaled": (Scaled, [torch.ones(n, 8) for n in (3, 3, 2, 4)]),
    "embedding": (embedding, [torch.randint(9, (n, 4)) for n in (3, 3, 2, 4)]),
}


def programs_of(model: nn.Module, x: torch.Tensor) -> list[ExportedProgram]:
    """The program with constant sizes, the same as torch decomposes it, and the program with a dynamic size."""
    program = export(model, (x,))
    return [program, program.run_decompositions({}), export(model, (x,), dynamic_shapes=({0: Dim.AUTO(max=9)},))]


@pytest.mark.parametrize("delegated", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_call_reads_the_parameters_that_the_call_before_wrote(name: str, delegated: bool) -> None:
    make, inputs = MODELS[name]
    with torch.no_grad():
        model = make().eval()
        programs = programs_of(model, inputs[0])
        finished = [
            to_edge_transform_and_lower(one, partitioner=[XnnpackPartitioner()] if delegated else []).to_executorch()
            for one in programs
        ]
        methods = [Runtime.get().load_program(one.buffer).load_method("forward") for one in finished]
        for x in inputs:
            expected = model(x)
            for method, program in zip(methods, programs, strict=True):
                if x.shape == inputs[0].shape or program.range_constraints:
                    (found,) = method.execute([x])
                    torch.testing.assert_close(found, expected)


class Reader(Scaled):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.weight


def test_methods_that_share_state_read_the_parameter_that_one_of_them_writes() -> None:
    x, state = torch.ones(3, 8), Scaled()
    programs = {"write": export(Scaled(), (x,)), "read": export(Reader(), (x,))}
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    lowered = to_edge(programs).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    program = Runtime.get().load_program(lowered.buffer, share_memory_arenas=True)
    methods = {name: program.load_method(name) for name in programs}
    for _ in range(2):
        torch.testing.assert_close(methods["write"].execute([x])[0], state(x))
        torch.testing.assert_close(methods["read"].execute([x])[0], Reader.forward(state, x))
