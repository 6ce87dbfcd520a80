# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExportedProgramPassManager runs graph passes and program passes on a program, checked as documented."""

import pytest
import torch
from torch.export import export
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir import to_edge
from executorch.exir.dialects._ops import ops
from executorch.exir.error import ExportError
from executorch.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult
from executorch.exir.pass_manager import ExportedProgramPassManager, PassManager
from executorch.exir.verification.verifier import WellFormed


class AddOffset(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.ones(2)

    def forward(self, x):
        return x + self.offset


def _edge():
    return to_edge(export(AddOffset(), (torch.ones(2),))).exported_program()


def _to_mul(graph_module):
    nodes = graph_module.graph.find_nodes(op="call_function", target=ops.edge.aten.add.Tensor)
    for node in nodes:
        node.target = ops.edge.aten.mul.Tensor
    return PassResult(graph_module, bool(nodes))


def _to_sub(graph_module):
    nodes = graph_module.graph.find_nodes(op="call_function", target=ops.edge.aten.mul.Tensor)
    for node in nodes:
        node.target = ops.edge.aten.sub.Tensor
    return PassResult(graph_module, bool(nodes))


def _call_method(graph_module):
    with graph_module.graph.inserting_before(graph_module.graph.output_node()):
        graph_module.graph.call_method("relu", (next(iter(graph_module.graph.nodes)),))
    return PassResult(graph_module, True)


class DoubleConstants(ExportedProgramPassBase):
    def call(self, exported_program):
        for name, value in exported_program.constants.items():
            exported_program.constants[name] = value * 2
        return ExportedProgramPassResult(exported_program, True)


def _operators(program):
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


def test_graph_and_program_passes_change_a_copy():
    program = _edge()
    result = ExportedProgramPassManager([_to_mul, [DoubleConstants()]])(program)
    assert result.modified
    torch.testing.assert_close(result.exported_program.module()(torch.full((2,), 3.0)), torch.full((2,), 6.0))
    torch.testing.assert_close(program.module()(torch.full((2,), 3.0)), torch.full((2,), 4.0))


def test_a_program_that_no_pass_changes_is_returned():
    program = _edge()
    result = ExportedProgramPassManager([_to_sub])(program)
    assert result.exported_program is program and not result.modified


def test_steps_repeat_the_passes_until_nothing_changes():
    assert _operators(ExportedProgramPassManager([_to_sub, _to_mul])(_edge()).exported_program) == [
        ops.edge.aten.mul.Tensor
    ]
    again = ExportedProgramPassManager([_to_sub, _to_mul], steps=5)(_edge()).exported_program
    assert _operators(again) == [ops.edge.aten.sub.Tensor]


def test_constraints_order_the_passes():
    manager = ExportedProgramPassManager([_to_sub, _to_mul], constraints=[lambda a, b: a is _to_mul and b is _to_sub])
    assert _operators(manager(_edge()).exported_program) == [ops.edge.aten.sub.Tensor]


@pytest.mark.parametrize("after_each", [False, True])
def test_calls_of_methods_are_refused(after_each):
    with pytest.raises(ExportError, match="call_method"):
        ExportedProgramPassManager([_call_method], run_checks_after_each_pass=after_each)(_edge())
    with pytest.raises(Exception, match="_call_method") as caught:
        PassManager([_call_method], run_checks_after_each_pass=True)(_edge().graph_module)
    assert isinstance(caught.value.__cause__, ExportError)


def test_verifiers_of_the_result_can_be_chosen():
    result = ExportedProgramPassManager([_to_mul])(_edge(), override_verifiers=[WellFormed])
    assert result.exported_program.verifiers == [WellFormed]
