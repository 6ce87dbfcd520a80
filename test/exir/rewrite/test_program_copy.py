# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copies of programs."""

import pytest
import torch
from torch import fx
from torch.export import ExportedProgram, export

from executorch.exir.rewrite.program_copy import copy_program


class _Choice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (self.linear(x),))


@pytest.fixture
def program() -> ExportedProgram:
    return export(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.ones(2, 4),))


def test_copy_generates_the_code_of_its_graph_once_when_it_is_used(
    program: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated: list[fx.Graph] = []
    generate = fx.Graph.python_code

    def counted(graph: fx.Graph, *args: object, **kwargs: object) -> object:
        generated.append(graph)
        return generate(graph, *args, **kwargs)

    monkeypatch.setattr(fx.Graph, "python_code", counted)
    copied = copy_program(program)
    assert copied.graph not in generated
    assert copied.graph_module.code == copied.graph_module.code
    copied.graph_module(*copied.state_dict.values(), torch.ones(2, 4))
    assert generated.count(copied.graph) == 1


def test_copy_with_subgraphs_is_an_ordinary_module_that_runs() -> None:
    x = torch.ones(2, 4)
    program = export(_Choice(), (x,))
    copied = copy_program(program)
    assert "lazy" not in str(type(copied.graph_module).__mro__).lower()
    assert torch.equal(copied.module()(x), program.module()(x))
