# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`_transform` and `transform_exported_program`: passes over one program."""

import pytest
import torch
from torch import fx
from torch._export.verifier import Verifier
from torch.export import ExportedProgram, export
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir import ExirExportedProgram, to_edge
from executorch.exir.error import ExportError
from executorch.exir.program._program import _transform, transform_exported_program


class _Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


class _OwnDialect(Verifier):
    dialect = "OWN"


def _program() -> ExportedProgram:
    return export(_Sum(), (torch.ones(2),))


def _add_to_mul(graph_module: fx.GraphModule) -> PassResult:
    for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor):
        node.target = torch.ops.aten.mul.Tensor
    return PassResult(graph_module, True)


def _nothing(graph_module: fx.GraphModule) -> PassResult:
    return PassResult(graph_module, False)


def test_the_result_has_the_passes_changes_and_the_program_stays_as_it_is() -> None:
    program = _program()
    changed = _transform(program, _nothing, _add_to_mul)
    x = torch.tensor([3.0, 5.0])
    assert torch.equal(changed.module()(x), x * x)
    assert torch.equal(program.module()(x), x + x)
    assert changed.verifiers == program.verifiers


def test_the_program_itself_comes_back_if_no_pass_changes_it() -> None:
    program = _program()
    verifiers = list(program.verifiers)
    assert _transform(program, _nothing) is program
    assert _transform(program) is program
    assert program.verifiers == verifiers


def test_the_given_verifiers_replace_those_of_the_program() -> None:
    program = _program()
    verifiers = list(program.verifiers)
    assert _transform(program, _add_to_mul, override_verifiers=[_OwnDialect]).verifiers == [_OwnDialect]
    assert program.verifiers == verifiers


def test_the_result_is_verified() -> None:
    edge = to_edge(_program()).exported_program()

    def to_aten(graph_module: fx.GraphModule) -> PassResult:
        for node in graph_module.graph.nodes:
            if node.op == "call_function":
                node.target = torch.ops.aten.add.Tensor
        return PassResult(graph_module, True)

    with pytest.raises(ExportError, match="EDGE verifier"):
        _transform(edge, to_aten)


@pytest.mark.parametrize("wrong", [[_add_to_mul], (_add_to_mul,), _OwnDialect, _OwnDialect()])
def test_a_list_of_passes_or_a_verifier_among_the_passes_is_refused(wrong: object) -> None:
    with pytest.raises(ExportError, match="override_verifiers"):
        _transform(_program(), wrong)


def test_transform_exported_program_takes_both_kinds_of_programs() -> None:
    x = torch.tensor([3.0, 5.0])
    assert torch.equal(transform_exported_program(_program(), _add_to_mul).module()(x), x * x)
    wrapped = ExirExportedProgram(_program(), after_to_edge_passes=False)
    assert torch.equal(transform_exported_program(wrapped, _add_to_mul)(x), x * x)
