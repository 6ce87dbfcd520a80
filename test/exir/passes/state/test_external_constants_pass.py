# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Constants that are tagged for files beside the program."""

import torch
from torch.export import ExportedProgram, export

from executorch.exir import to_edge
from executorch.exir.passes.state.external_constants_pass import DEFAULT_FILE, tag_external_constants


class Constants(torch.nn.Module):
    """A parameter, a buffer, a buffer that the method writes, and a tensor written in the code."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("offset", torch.ones(3))
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x * self.weight + self.offset + torch.tensor([1.0, 2.0, 3.0]) + self.count


def _edge() -> ExportedProgram:
    return to_edge(export(Constants(), (torch.ones(3),))).exported_program()


def _tags(program: ExportedProgram) -> dict[str, str]:
    nodes = program.graph.find_nodes(op="placeholder")
    return {node.name: node.meta["constant_tag"] for node in nodes if "constant_tag" in node.meta}


def test_state_and_tensors_of_the_code_stay_in_the_program() -> None:
    program = _edge()
    tag_external_constants(program)
    assert _tags(program) == {"p_weight": DEFAULT_FILE, "b_offset": DEFAULT_FILE}


def test_a_function_chooses_the_file_of_each_constant() -> None:
    program = _edge()
    tag_external_constants(program, lambda node: "weights" if node.name == "p_weight" else None)
    assert _tags(program) == {"p_weight": "weights"}
