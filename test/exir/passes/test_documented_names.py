# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes and functions under the names that scripts import from `executorch.exir.passes`."""

import importlib
from types import FunctionType

import pytest
import torch
from torch.export import export

from executorch.exir import passes, to_edge
from executorch.exir.dialects._ops import bind_pattern_to_op
from executorch.exir.passes import (
    ConstPropPass,
    ToDevicePass,
    dead_code_elimination_pass,
    insert_write_back_for_buffers_pass,
)
from executorch.exir.passes._quant_patterns_and_replacements import _trace_and_lower_to_edge_ops
from executorch.exir.passes.documented import DOCUMENTED_MODULES
from executorch.exir.passes.remove_noop_pass import RemoveToCopyPass


class _Constants(torch.nn.Module):
    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return data + torch.full((2,), 3.0).sqrt() + torch.rand(2)


def _calls(graph_module: torch.fx.GraphModule) -> list[str]:
    return [node.target.name() for node in graph_module.graph.nodes if hasattr(node.target, "_schema")]


@pytest.mark.parametrize("quantizations_alone", [False, True])
def test_calls_on_constants_are_computed_but_random_numbers_stay(quantizations_alone: bool) -> None:
    graph_module = to_edge(export(_Constants(), (torch.zeros(2),))).exported_program().graph_module
    result = ConstPropPass(propogate_quant=quantizations_alone)(graph_module)
    assert result is not None
    calls = _calls(result.graph_module)
    assert ("aten::sqrt" in calls) == quantizations_alone and "aten::rand" in calls
    returned = result.graph_module(torch.zeros(2))[0] - torch.full((2,), 3.0).sqrt()
    assert ((returned >= 0) & (returned <= 1)).all()


def test_calls_without_readers_are_removed() -> None:
    graph_module = to_edge(export(torch.nn.ReLU(), (torch.zeros(2),))).exported_program().graph_module
    relu = next(node for node in graph_module.graph.nodes if node.op == "call_function")
    with graph_module.graph.inserting_after(relu):
        graph_module.graph.call_function(relu.target, (relu,))
    assert dead_code_elimination_pass(graph_module).modified
    assert _calls(graph_module) == ["aten::relu"]


def test_copies_to_the_same_dtype_are_removed() -> None:
    graph_module = export(torch.nn.ReLU(), (torch.zeros(2),)).graph_module
    relu = next(node for node in graph_module.graph.nodes if node.op == "call_function")
    with graph_module.graph.inserting_before(relu):
        copy = graph_module.graph.call_function(torch.ops.aten._to_copy.default, (relu.args[0],))
    copy.meta["val"] = relu.args[0].meta["val"]
    relu.replace_input_with(relu.args[0], copy)
    assert RemoveToCopyPass()(graph_module).modified  # type: ignore[union-attr]
    assert _calls(graph_module) == ["aten::relu"]


def test_state_is_written_back_under_the_documented_name() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, data: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return data + self.count

    program = to_edge(export(Counter(), (torch.zeros(1),))).exported_program()
    graph_module, signature = insert_write_back_for_buffers_pass(program)
    assert "aten::copy_" in _calls(graph_module) and signature is program.graph_signature


def test_calls_name_the_device_that_a_graph_is_moved_to() -> None:
    graph_module = export(_Constants(), (torch.zeros(2),)).graph_module
    result = ToDevicePass("meta")(graph_module)
    assert result is not None
    devices = {node.kwargs["device"] for node in result.graph_module.graph.nodes if "device" in node.kwargs}
    assert devices <= {torch.device("meta")} and devices


def test_a_pattern_of_operators_is_replaced_by_a_backend_operator() -> None:
    class AddRelu(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + y)

    library = torch.library.Library("documented_fusion", "DEF")

    @bind_pattern_to_op(library, "add_relu(Tensor self, Tensor other) -> Tensor")
    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(x, y))

    def replacement(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.ops.documented_fusion.add_relu.default(x, y)

    graph_module = to_edge(export(AddRelu(), (torch.ones(2), torch.ones(2)))).exported_program().graph_module
    before, after = (_trace_and_lower_to_edge_ops(function) for function in (pattern, replacement))
    torch.fx.subgraph_rewriter.replace_pattern(graph_module, before, after)
    assert _calls(graph_module) == ["documented_fusion::add_relu"]
    assert torch.equal(graph_module(torch.tensor([1.0, -5.0]), torch.ones(2))[0], torch.tensor([2.0, 0.0]))


def test_every_documented_module_path_gives_the_module_of_its_folder() -> None:
    names = [module.__name__.rpartition(".")[2] for module in DOCUMENTED_MODULES]
    modules = [importlib.import_module(f"executorch.exir.passes.{name}") for name in names]
    assert modules == list(DOCUMENTED_MODULES)
    functions = {name for name in names if isinstance(getattr(passes, name), FunctionType)}
    assert functions == {"insert_write_back_for_buffers_pass", "remove_unused_parameters_pass"}
