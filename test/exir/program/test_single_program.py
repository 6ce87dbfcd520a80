# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented classes of a program with one method give the same files as the managers."""

import copy

import pytest
import torch
from torch.export import export

from executorch.exir import (
    ExecutorchBackendConfig,
    ExecutorchProgram,
    ExirExportedProgram,
    edge_to_executorch_passes,
    emit_program,
    to_edge,
)
from executorch.exir.operator.convert import is_out_variant
from executorch.exir.passes import RemoveNoopPass
from executorch.runtime import Runtime


def _exported() -> ExirExportedProgram:
    return ExirExportedProgram(export(torch.nn.Linear(3, 4).eval(), (torch.ones(2, 3),)), False)


def test_a_program_goes_to_edge_and_to_a_file_that_runs() -> None:
    data = torch.randn(2, 3)
    exported = _exported()
    finished = copy.deepcopy(exported.to_edge().transform(RemoveNoopPass())).to_executorch()
    method = Runtime.get().load_program(finished.buffer).load_method("forward")
    assert method is not None
    torch.testing.assert_close(method.execute([data])[0], exported(data))
    assert finished.program == finished.executorch_program
    assert finished.dump_graph_module() is finished.dump_exported_program().graph_module


def test_the_file_equals_that_of_the_managers() -> None:
    exported = _exported()
    managed = to_edge(exported.exported_program).to_executorch()
    assert exported.to_edge().to_executorch().buffer == managed.buffer


def test_steps_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(RuntimeError, match="call to_edge first"):
        _exported().to_executorch()
    with pytest.raises(RuntimeError, match="call to_edge first"):
        ExecutorchProgram(_exported(), False, True, 128)


def test_the_listed_passes_make_out_variants_that_are_planned_and_emitted() -> None:
    config = ExecutorchBackendConfig()
    edge = _exported().to_edge().exported_program
    graph = edge.graph_module
    for one_pass in edge_to_executorch_passes(config):
        result = one_pass(graph)
        graph = graph if result is None else result.graph_module
    calls = [node.target for node in graph.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    assert calls
    assert all(is_out_variant(call) for call in calls)
    assert all(node.meta["spec"] is not None for node in graph.graph.nodes if node.op == "placeholder")


def test_a_planned_program_is_emitted_by_itself() -> None:
    planned = to_edge(_exported().exported_program).to_executorch().exported_program()
    assert [plan.name for plan in emit_program(planned).program.execution_plan] == ["forward"]
