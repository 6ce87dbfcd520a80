# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Delegation in the whole pipeline: edge programs, emitted programs, and queries of both."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from models.delegated_modules import MatmulAddSub, Shifted
from torch.export import export

from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.delegate.delegation_info import get_delegation_info
from executorch.exir.backend.delegate.inline_delegates import inline_delegates
from executorch.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from executorch.exir.backend.test.op_partitioner_demo import (
    AddAttributePartitionerDemo,
    AddMulPartitionerDemo,
    AllNodesPartitionerDemo,
    NonDecompTestPartitioner,
)
from executorch.exir.backend.utils import (
    format_delegated_graph,
    get_delegated_payload,
    get_delegates,
    get_non_lowered_nodes,
    print_delegated_graph,
    print_delegation_info,
)
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.schema import DelegateCall, ExecutionPlan, Program, Tensor
from executorch.exir.serialize import deserialize_pte


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: torch.mm(x, x) + x, lambda x: (x + x).sin(), (x,))


SQUARES = tuple(torch.randn(2, 2) for _ in range(3))


def lowered(model: torch.nn.Module, inputs: tuple[Any, ...], *partitioners: Any, **options: Any) -> EdgeProgramManager:
    return to_edge_transform_and_lower(export(model.eval(), inputs, **options), partitioner=list(partitioners))


def written_and_read(manager: EdgeProgramManager) -> Program:
    return deserialize_pte(manager.to_executorch().buffer).program


def delegate_calls(plan: ExecutionPlan) -> list[DelegateCall]:
    every = [instruction.instr_args for chain in plan.chains for instruction in chain.instructions]
    return [call for call in every if isinstance(call, DelegateCall)]


def assert_same(manager: EdgeProgramManager, model: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
    with torch.no_grad():
        torch.testing.assert_close(manager.exported_program().module()(*inputs), model(*inputs))


def test_a_written_program_calls_its_delegates_and_holds_their_payloads() -> None:
    manager = lowered(MatmulAddSub(), SQUARES, AddMulPartitionerDemo())
    assert_same(manager, MatmulAddSub(), SQUARES)
    program = written_and_read(manager)
    (plan,) = program.execution_plan
    assert [delegate.id for delegate in plan.delegates] == ["BackendWithCompilerDemo"] * 2
    specs = [(spec.key, bytes(spec.value)) for delegate in plan.delegates for spec in delegate.compile_specs]
    assert specs == [("max_value", b"\x04")] * 2
    payloads = [bytes(program.backend_delegate_data[d.processed.index].data) for d in plan.delegates]
    expected = get_delegated_payload(manager.exported_program().graph_module)
    assert payloads == [payload for _, _, payload in expected.values()]
    assert [len(call.args) for call in delegate_calls(plan)] == [4, 4]  # three inputs and an output each
    assert [operator.name for operator in plan.operators] == ["aten::sub"]


def test_constants_that_moved_into_a_delegate_are_not_in_the_program() -> None:
    manager = lowered(Shifted(), (torch.randn(2, 3),), AddAttributePartitionerDemo())
    program = written_and_read(manager)
    assert not [buffer for buffer in program.constant_buffer if len(buffer.storage) > 0]
    assert all(b"data 12\n" in bytes(inline.data) for inline in program.backend_delegate_data)


def test_a_program_that_is_all_delegate_has_no_operators() -> None:
    program = written_and_read(lowered(MatmulAddSub(), SQUARES, AllNodesPartitionerDemo()))
    (plan,) = program.execution_plan
    assert not plan.operators and len(delegate_calls(plan)) == 1
    nested = deserialize_pte(bytes(program.backend_delegate_data[0].data)).program
    assert {operator.name for operator in nested.execution_plan[0].operators} >= {"aten::mm", "aten::add", "aten::sub"}


def test_delegates_inside_branches_are_emitted_there() -> None:
    manager = lowered(Branches(), (torch.randn(2, 2),), AddMulPartitionerDemo())
    for x in (torch.ones(2, 2), -torch.ones(2, 2)):
        assert_same(manager, Branches(), (x,))
    (plan,) = written_and_read(manager).execution_plan
    assert len(delegate_calls(plan)) == 2


def test_outputs_of_a_dynamic_delegate_are_planned_at_their_upper_bound() -> None:
    rows = torch.export.Dim("rows", min=1, max=6)
    manager = lowered(Shifted(), (torch.randn(4, 3),), AddAttributePartitionerDemo(), dynamic_shapes={"x": {0: rows}})
    (plan,) = written_and_read(manager).execution_plan
    outputs = [plan.values[call.args[-1]].val for call in delegate_calls(plan)]
    assert all(isinstance(value, Tensor) and value.sizes == [6, 3] and value.shape_dynamism for value in outputs)


def test_operators_that_a_partitioner_keeps_whole_reach_its_backend_whole() -> None:
    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x).sin() + 1

    model, inputs = Layers(), (torch.randn(2, 4),)
    manager = lowered(model, inputs, NonDecompTestPartitioner())
    (module,) = get_lowered_backend_modules(manager.exported_program().graph_module)
    assert b"op linear" in module.processed_bytes
    assert_same(manager, model, inputs)


def test_debug_handles_of_a_delegate_map_to_the_nodes_inside() -> None:
    manager = lowered(MatmulAddSub(), SQUARES, AddMulPartitionerDemo()).to_executorch()
    calls = manager.delegate_map["forward"]
    assert [entry["name"] for entry in calls.values()] == ["BackendWithCompilerDemo"] * 2
    handles = [handle for entry in calls.values() for handle in entry["delegate_map"]]
    assert len(handles) == len(set(handles)) == 4


def test_a_lowered_module_is_a_complete_program_by_itself() -> None:
    edge = to_edge(export(MatmulAddSub(), SQUARES))
    module = to_backend("BackendWithCompilerDemo", edge.exported_program(), [CompileSpec("key", b"value")])
    torch.testing.assert_close(module(*SQUARES), MatmulAddSub()(*SQUARES))
    program = deserialize_pte(module.buffer()).program
    (plan,) = program.execution_plan
    assert (plan.name, len(plan.inputs), len(plan.outputs)) == ("forward", 3, 1)
    assert [delegate.id for delegate in plan.delegates] == ["BackendWithCompilerDemo"]
    assert len(delegate_calls(plan)) == 1
    assert module.program().execution_plan[0].delegates[0].compile_specs[0].key == "key"
    extracted = deserialize_pte(module.buffer(extract_delegate_segments=True, segment_alignment=4096)).program
    assert bytes(extracted.backend_delegate_data[0].data) == module.processed_bytes


def test_named_data_of_all_delegates_is_in_the_program_once() -> None:
    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return ((x + x).cos() + x).sin()

    manager = lowered(Twice(), (torch.randn(3),), BackendWithNDMPartitioner())
    file = deserialize_pte(manager.to_executorch().buffer)
    assert sorted(file.named_data) == ["aten.add.Tensor", "aten.sin.default"]


def test_delegation_is_counted_by_operator_through_branches(capsys: pytest.CaptureFixture[str]) -> None:
    graph_module = lowered(Branches(), (torch.randn(2, 2),), AddMulPartitionerDemo()).exported_program().graph_module
    info = get_delegation_info(graph_module)
    assert info.num_delegated_subgraphs == 2
    assert info.num_delegated_nodes == 3
    assert info.operator_rows()[-1] == ("Total", 3, info.num_non_delegated_nodes)
    assert info.delegation_by_operator["aten_mm_default"].delegated == 1
    assert info.get_summary().startswith("Total delegated subgraphs: 2\nNumber of delegated nodes: 3\n")
    print_delegation_info(graph_module)
    assert "occurrences_in_delegated_graphs" in capsys.readouterr().out


def test_operators_are_counted_under_the_names_that_fx_gives_their_calls() -> None:
    class Sums(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum(0) + x.sum(1)

    info = get_delegation_info(to_edge(export(Sums(), SQUARES[:1])).exported_program().graph_module)
    assert sorted(info.delegation_by_operator) == ["aten_add_tensor", "aten_sum_dim_int_list"]


def test_a_delegated_graph_prints_with_the_operators_of_its_delegates(capsys: pytest.CaptureFixture[str]) -> None:
    graph_module = lowered(MatmulAddSub(), SQUARES, AddMulPartitionerDemo()).exported_program().graph_module
    print_delegated_graph(graph_module)
    text = capsys.readouterr().out.rstrip("\n") + "\n"
    assert text == format_delegated_graph(graph_module)
    assert text.count("backend_id: BackendWithCompilerDemo") == 2
    assert text.count("aten.mm.default") == 2 and text.count("%lowered_module_1") >= 2
    assert [node.name for node in get_delegates(graph_module.graph)] == ["lowered_module_0", "lowered_module_1"]
    assert [node.name for node in get_non_lowered_nodes(graph_module.graph)] == ["aten_sub_tensor"]


def test_every_graph_of_a_delegated_program_is_free_of_tags() -> None:
    program = lowered(Branches(), (torch.randn(2, 2),), AddMulPartitionerDemo()).exported_program()
    nodes = [node for module in all_graph_modules(program.graph_module) for node in module.graph.nodes]
    assert not [node.name for node in nodes if "delegation_tag" in node.meta]


@pytest.mark.parametrize(("model", "inputs"), [(MatmulAddSub(), SQUARES), (Shifted(), (torch.randn(2, 3),))])
def test_delegates_can_be_inlined_into_the_program(model: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
    program = lowered(model, inputs, AddMulPartitionerDemo()).exported_program()
    inlined = inline_delegates(program)
    assert get_delegates(program.graph) and not get_delegates(inlined.graph)
    assert all(node.meta["debug_handle"] for node in inlined.graph.nodes if node.op == "call_function")
    assert inline_delegates(inlined) is inlined
    torch.testing.assert_close(inlined.module()(*inputs), model(*inputs))
