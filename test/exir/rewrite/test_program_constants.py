# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Constants that are added to an exported program."""

import torch
from models.function_module import Function
from torch.export import export
from torch.export.graph_signature import InputKind

from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.program_constants import NewConstant, add_constants, constant_tensors


def test_many_constants_get_free_names_in_order_before_the_inputs_of_the_user():
    program = export(Function(lambda x: x + torch.ones(2) * 3), (torch.randn(2),), strict=False)
    program.constants["c1"] = torch.zeros(1)
    tensors = [torch.full((1,), float(i)) for i in range(3)]
    mode = fake_mode_of(program.graph_module)
    nodes = add_constants(program, "c", [NewConstant(tensor, mode.from_tensor(tensor)) for tensor in tensors])
    assert [node.target for node in nodes] == ["c0", "c2", "c3"]
    known = constant_tensors(program)
    assert [known[node.name] for node in nodes] == tensors
    specs = program.graph_signature.input_specs
    assert [spec.arg.name for spec in specs] == [node.name for node in program.graph.find_nodes(op="placeholder")]
    assert [spec.kind for spec in specs][-1] is InputKind.USER_INPUT


def test_no_constants_change_nothing():
    program = export(Function(lambda x: x + 1), (torch.randn(2),), strict=False)
    before = str(program)
    assert add_constants(program, "c", []) == []
    assert str(program) == before
