# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graphs of control flow (`exir.graph_module`) and sources of nodes (`exir.debug_handle_utils`)."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import fx
from torch._higher_order_ops import scan, while_loop
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.debug_handle_utils import DEBUG_HANDLE_KEY, FROM_NODE_KEY, get_greatest_ancestor_node_identifier
from executorch.exir.graph_module import (
    copy_graph_module,
    get_cond_while_submodules,
    get_control_flow_submodules,
    get_scan_submodules,
)


class _Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, [x])


class _Loop(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda x: x.sum() < 10, lambda x: (x + 1,), (x,))[0]


class _Steps(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(2), x)[1]


@pytest.mark.parametrize(
    "model, of_all, of_cond_while, of_scan",
    [(_Branches, 2, 2, 0), (_Loop, 2, 2, 0), (_Steps, 1, 0, 1)],
)
def test_graphs_are_found_by_the_operator_that_runs_them(
    model: Callable[[], torch.nn.Module], of_all: int, of_cond_while: int, of_scan: int
) -> None:
    graph_module = export(model(), (torch.ones(3, 2),)).graph_module
    found: list[list[tuple[str, Any, fx.Node]]] = [
        get_control_flow_submodules(graph_module),
        get_cond_while_submodules(graph_module),
        get_scan_submodules(graph_module),
    ]
    assert [len(entries) for entries in found] == [of_all, of_cond_while, of_scan]
    for name, submodule, call in (entry for entries in found for entry in entries):
        assert getattr(graph_module, name) is submodule
        assert any(argument.target == name for argument in call.all_input_nodes)


class _Normalized(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, [2]).relu() * 2


# Sizes that vary take another way through decomposition.
@pytest.mark.parametrize("shapes", [None, ({0: torch.export.Dim("rows", min=2, max=9)},)])
def test_nodes_lowered_from_an_exported_node_have_its_identifier_and_one_handle(shapes: Any) -> None:
    exported = export(_Normalized(), (torch.ones(3, 2),), dynamic_shapes=shapes)
    expected = {
        f"{n.name}.{id(exported.graph)}" for n in exported.graph.nodes if n.name in ("layer_norm", "relu", "mul")
    }
    nodes = [n for n in to_edge(exported).exported_program().graph.nodes if n.op == "call_function"]
    found = {(get_greatest_ancestor_node_identifier(node), node.meta[DEBUG_HANDLE_KEY]) for node in nodes}
    assert {identifier for identifier, _ in found} == expected
    assert len(found) == len({handle for _, handle in found}) == 3


def test_a_node_without_history_has_no_identifier() -> None:
    node = fx.Graph().placeholder("x")
    with pytest.raises(KeyError, match=f"'x': metadata '{FROM_NODE_KEY}' is missing"):
        get_greatest_ancestor_node_identifier(node)


@pytest.mark.parametrize("model", [_Branches, _Loop, _Steps, _Normalized])
def test_a_copied_module_generates_its_code_when_it_is_called_or_read(model: Callable[[], torch.nn.Module]) -> None:
    x = torch.randn(3, 2)
    graph_module = export(model(), (x,)).run_decompositions({}).graph_module
    called, read = copy_graph_module(graph_module), copy_graph_module(graph_module)
    torch.testing.assert_close(called(x), graph_module(x))
    torch.testing.assert_close(called(x), graph_module(x))
    assert read.code == called.code == graph_module.code
    assert str(read) == str(called)
    assert called.graph is not graph_module.graph


def test_a_copied_module_runs_what_its_graph_is_at_the_first_call() -> None:
    graph_module = export(_Normalized(), (torch.ones(3, 2),)).graph_module
    copied = copy_graph_module(graph_module)
    (product,) = copied.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
    product.args = (product.args[0], 3)
    x = torch.randn(3, 2)
    torch.testing.assert_close(copied(x)[0], graph_module(x)[0] * 1.5)
    torch.testing.assert_close(pickle.loads(pickle.dumps(copied))(x)[0], copied(x)[0])
    torch.testing.assert_close(copy.deepcopy(copy_graph_module(copied))(x)[0], copied(x)[0])
