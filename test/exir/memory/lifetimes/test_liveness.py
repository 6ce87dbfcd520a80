# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lifetimes: from the first to the last step at which a tensor must hold its value, control flow included."""

from typing import Any

import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import ExportedProgram, export
from torch.fx import GraphModule, Node

from executorch.exir import to_edge
from executorch.exir.graph_module import get_control_flow_submodules
from executorch.exir.memory import alloc, view
from executorch.exir.memory_planning import get_node_tensor_specs
from executorch.exir.tensor import TensorSpec


def planned(model: nn.Module, *inputs: Any) -> ExportedProgram:
    return to_edge(export(model.eval(), inputs)).to_executorch().exported_program()


def spec_of(graph_module: GraphModule, target: Any) -> TensorSpec:
    node = next(node for node in graph_module.graph.nodes if node.target is target)
    return get_node_tensor_specs(node)[0]


def lifetime(spec: TensorSpec) -> tuple[int, int]:
    first, last = spec.lifetime
    assert first is not None and last is not None
    return first, last


def test_inputs_live_from_the_start_and_results_to_the_end() -> None:
    class Adds(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.sin().cos() + y

    graph_module = planned(Adds(), torch.randn(2), torch.randn(2)).graph_module
    nodes = list(graph_module.graph.nodes)
    x, y = (get_node_tensor_specs(node)[0] for node in nodes[:2])
    sin = spec_of(graph_module, torch.ops.aten.sin.out)
    result = spec_of(graph_module, torch.ops.aten.add.out)
    assert lifetime(x)[0] == lifetime(y)[0] == 0
    assert lifetime(x)[1] < lifetime(sin)[1] < lifetime(y)[1] < lifetime(result)[1]
    assert lifetime(result)[1] == sum(node.target is not alloc for node in nodes)


def test_a_mutable_buffer_lives_through_the_method() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return (x + 1).sin()

    program = planned(Counts(), torch.randn(2))
    buffer = next(node for node in program.graph.nodes if node.name.startswith("b_count"))
    steps = sum(node.target is not alloc for node in program.graph.nodes)
    assert lifetime(get_node_tensor_specs(buffer)[0]) == (0, steps)


def test_a_views_uses_keep_its_base_alive() -> None:
    class Views(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            base = x.sin()
            shown = base.reshape(6, 2)
            other = x.cos().exp()
            return other.sum() + shown.tan().sum()

    graph_module = planned(Views(), torch.randn(3, 4)).graph_module
    base, shown = (spec_of(graph_module, target) for target in (torch.ops.aten.sin.out, view))
    assert shown is base
    assert lifetime(base)[1] > lifetime(spec_of(graph_module, torch.ops.aten.exp.out))[0]


class Branches(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = y.sin()
        chosen = torch.cond(x.sum() > 0, lambda a, b: (a + b).exp().tan(), lambda a, b: (a * b).cos(), (x, z))
        return chosen.relu()


def branch_graphs(program: ExportedProgram) -> tuple[Node, GraphModule, GraphModule]:
    (_, first, node), (_, second, _) = get_control_flow_submodules(program.graph_module)
    return node, first, second


def test_operands_of_a_branch_live_until_both_branches_are_done() -> None:
    program = planned(Branches(), torch.randn(3), torch.randn(3))
    _, first, second = branch_graphs(program)
    captured = spec_of(program.graph_module, torch.ops.aten.sin.out)
    for branch in (first, second):
        for node in branch.graph.nodes:
            for spec in get_node_tensor_specs(node) if node.op == "call_function" else []:
                assert lifetime(spec)[0] <= lifetime(captured)[1]


def test_a_branch_writes_its_result_where_the_outer_graph_reads_it() -> None:
    program = planned(Branches(), torch.randn(3), torch.randn(3))
    node, first, second = branch_graphs(program)
    (outer,) = get_node_tensor_specs(node)
    assert spec_of(first, torch.ops.aten.tan.out) is outer
    assert spec_of(second, torch.ops.aten.cos.out) is outer
    # relu may write over it, which ends it one step before.
    assert lifetime(outer)[1] >= lifetime(spec_of(program.graph_module, torch.ops.aten.relu.out))[0] - 1


def test_carried_tensors_live_during_the_whole_loop() -> None:
    class Loops(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            def body(i: torch.Tensor, a: torch.Tensor) -> Any:
                return i + 1, (a.exp().sin() + a).cos()

            return while_loop(lambda i, a: i < 3, body, (torch.tensor(0), x))[1].relu()

    program = planned(Loops(), torch.randn(3))
    node, condition, body = branch_graphs(program)
    carried = get_node_tensor_specs(node)
    inner = [spec for graph in (condition, body) for node in graph.graph.nodes for spec in get_node_tensor_specs(node)]
    starts, ends = zip(*(lifetime(spec) for spec in inner if not spec.const and spec not in carried), strict=True)
    for spec in carried:
        assert lifetime(spec)[0] <= min(starts) and lifetime(spec)[1] >= max(ends)
    assert [get_node_tensor_specs(node)[0] for node in body.graph.nodes if node.op == "placeholder"] == carried
    assert spec_of(body, torch.ops.aten.cos.out) not in carried


def test_writing_a_buffer_back_needs_no_extra_memory() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1024))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.copy_(x)
            return x + 1

    program = planned(Counts(), torch.randn(1024))
    buffer, written = (node for node in program.graph.nodes if node.name.startswith(("b_count", "copy_")))
    assert get_node_tensor_specs(written) == get_node_tensor_specs(buffer)
