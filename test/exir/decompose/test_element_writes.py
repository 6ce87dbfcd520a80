# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes of one element become writes of a slice without a trace, with the layout and origin that a trace gives."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.tolerances import EXACT
from torch import fx
from torch.export import Dim, ExportedProgram, export

from executorch.exir.decompose import graph_decomposition
from executorch.exir.decompose.decomposition import decompose

_SELECT_SCATTER, _SLICE_SCATTER = torch.ops.aten.select_scatter.default, torch.ops.aten.slice_scatter.default

WRITES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of the first row": lambda x: torch.select_scatter(x, x[1] * 2, 0, 0),
    "of the last column": lambda x: torch.select_scatter(x, x[:, 0] * 2, -1, -1),
    "of the last column but one": lambda x: torch.select_scatter(x, x[:, 0] * 2, 1, -2),
    "of a row of the tensor itself": lambda x: torch.select_scatter(x, x[2], 0, 1),
    "of a row with a step between its elements": lambda x: torch.select_scatter(x, x.t()[0, :1].expand(4), 0, 1),
    "of the only element": lambda x: torch.select_scatter(x.sum().reshape(1), x[0, 0], 0, 0),
    "of a row of a transposed tensor": lambda x: torch.select_scatter(x.t(), x[:, 0] * 2, 0, 1),
}


def _refuse_select_scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = graph_decomposition.traced_body

    def traced_body(node: fx.Node, *rest: Any) -> fx.GraphModule:
        assert node.target is not _SELECT_SCATTER
        return trace(node, *rest)

    monkeypatch.setattr(graph_decomposition, "traced_body", traced_body)


def _layouts(program: ExportedProgram) -> list[object]:
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    return [(node.target, node.meta["val"].shape, node.meta["val"].stride()) for node in calls]


@pytest.mark.parametrize("what", WRITES)
def test_the_calls_are_those_of_a_trace(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3, 4)
    program = export(Function(WRITES[what]), (x,))
    decomposed = decompose(program)
    torch.testing.assert_close(decomposed.module()(x), WRITES[what](x), **EXACT)
    monkeypatch.setattr(graph_decomposition, "write_as_slice", lambda node, mode: False)
    assert _layouts(decomposed) == _layouts(decompose(program))


def test_writes_at_different_positions_need_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        for index in range(4):
            y[:, index] = y[:, index - 1] + x[:, index]
        return y

    _refuse_select_scatter(monkeypatch)
    x = torch.randn(3, 4)
    decomposed = decompose(export(Function(forward), (x,)))
    assert sum(node.target is _SLICE_SCATTER for node in decomposed.graph.nodes) == 4
    torch.testing.assert_close(decomposed.module()(x), forward(x), **EXACT)


def test_a_tensor_of_varying_size_is_written() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.select_scatter(x * 2, x[0], 0, 1)

    program = export(Function(forward), (torch.randn(3, 4),), dynamic_shapes={"args": ({0: Dim("n", min=2, max=9)},)})
    decomposed = decompose(program).module()
    for rows in (2, 9):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(decomposed(x), forward(x), **EXACT)


def test_the_calls_name_the_call_that_they_replace() -> None:
    program = export(Function(WRITES["of the first row"]), (torch.randn(3, 4),))
    (write,) = [node for node in program.graph.nodes if node.target is _SELECT_SCATTER]
    (slice_write,) = [node for node in decompose(program).graph.nodes if node.target is _SLICE_SCATTER]
    assert slice_write.meta["stack_trace"] == write.meta["stack_trace"]
    assert slice_write.meta["from_node"][-1].name == write.name
