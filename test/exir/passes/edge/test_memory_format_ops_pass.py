# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From memory formats to dim orders, and back (`DimOrderOpsRevertPass`)."""

from typing import Any

import pytest
import torch
from models.module_kinds import Kind
from oracle.models.every_step import assert_every_step_keeps
from torch.export import export
from torch.fx import GraphModule

from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.passes.memory_format_ops_pass import DimOrderOpsRevertPass

aten, dim_order_ops = exir_ops.edge.aten, exir_ops.edge.dim_order_ops


class _Formats(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        last = x.to(memory_format=torch.channels_last)
        return last, last.contiguous().relu(), x.double(), last.clone().sin()


def _graph(model: torch.nn.Module, *inputs: torch.Tensor, **config: Any) -> GraphModule:
    edge = to_edge(export(model, inputs), compile_config=EdgeCompileConfig(**config))
    graph_module: GraphModule = edge.exported_program().graph_module
    return graph_module


def _calls(graph_module: GraphModule) -> list[Any]:
    return [node for node in graph_module.graph.nodes if node.op == "call_function"]


def test_the_graph_has_the_operators_formats_and_results_of_one_that_never_had_dim_orders() -> None:
    x = torch.randn(2, 3, 4, 5)
    expected = _graph(_Formats(), x, _skip_dim_order=True)
    result = DimOrderOpsRevertPass()(_graph(_Formats(), x))
    assert result is not None and result.modified
    assert [node.target for node in _calls(result.graph_module)] == [node.target for node in _calls(expected)]
    values = result.graph_module(x)
    assert not any("dim_order" in node.kwargs for node in _calls(result.graph_module))
    for value, other, eager in zip(values, expected(x), _Formats()(x), strict=True):
        assert torch.equal(value, eager) and value.stride() == other.stride() == eager.stride()
    (output,) = result.graph_module.graph.find_nodes(op="output")
    assert [node.meta["val"].stride() for node in output.args[0]] == [value.stride() for value in values]


def test_memory_without_values_is_reverted_too() -> None:
    class Empty(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.empty(x.shape, memory_format=torch.channels_last) * x

    result = DimOrderOpsRevertPass()(_graph(Empty(), torch.randn(2, 3, 4, 5)))
    assert result is not None
    (empty,) = result.graph_module.graph.find_nodes(op="call_function", target=aten.empty.memory_format)
    assert empty.kwargs["memory_format"] is torch.channels_last
    assert empty.meta["val"].is_contiguous(memory_format=torch.channels_last)


def test_a_graph_without_dim_orders_stays_as_it_is() -> None:
    graph_module = _graph(_Formats(), torch.randn(2, 3, 4, 5), _skip_dim_order=True)
    before = graph_module.code
    result = DimOrderOpsRevertPass()(graph_module)
    assert result is not None and not result.modified and result.graph_module.code == before


def test_branches_are_reverted_too() -> None:
    class Branches(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x.double() + 1, lambda x: x.double(), [x])

    result = DimOrderOpsRevertPass()(_graph(Branches(), torch.ones(2)))
    assert result is not None
    assert "dim_order" not in result.graph_module.true_graph_0.code + result.graph_module.false_graph_0.code


def _with_dim_order(dim_order: list[int] | None) -> GraphModule:
    class Copy(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.float64)

    graph_module = _graph(Copy(), torch.randn(2, 3).t())
    (call,) = graph_module.graph.find_nodes(op="call_function", target=dim_order_ops._to_dim_order_copy.default)
    call.kwargs = {**call.kwargs, "dim_order": dim_order}
    return graph_module


@pytest.mark.parametrize("dim_order", [None, [1, 0]])
def test_the_inputs_own_dim_order_becomes_preserve_format(dim_order: list[int] | None) -> None:
    result = DimOrderOpsRevertPass()(_with_dim_order(dim_order))
    assert result is not None
    (call,) = _calls(result.graph_module)
    assert call.target is aten._to_copy.default and call.kwargs["memory_format"] is torch.preserve_format
    assert call.meta["val"].stride() == (1, 3)


def test_a_dim_order_without_a_memory_format_is_an_error_that_names_the_node() -> None:
    class Copy(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.float64)

    graph_module = _graph(Copy(), torch.randn(2, 3, 4))
    (call,) = _calls(graph_module)
    call.kwargs = {**call.kwargs, "dim_order": [2, 1, 0]}
    with pytest.raises(ExportError, match=rf"{call.name}.*dim order \[2, 1, 0\]"):
        DimOrderOpsRevertPass()(graph_module)


def test_each_step_keeps_the_results_of_copies_to_other_formats() -> None:
    assert_every_step_keeps(Kind(_Formats(), [(torch.randn(1, 2, 3, 3),)]))
