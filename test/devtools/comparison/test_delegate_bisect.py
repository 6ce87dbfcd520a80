# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A backend whose payloads cannot be opened: the comparison finds its wrong operator by compiling parts again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from executorch.backends.xnnpack.lowering.graph_writer import GraphWriter
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.devtools.comparison import Comparison, compare, delegate_bisect
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.exir.schema import BackendDelegateInlineData
from executorch.exir.serialize import deserialize_pte, serialize_pte
from executorch.runtime import Runtime

pytestmark = pytest.mark.skipif(
    not Runtime.get().backend_registry.is_available("XnnpackBackend"), reason="built without XNNPACK"
)
X = torch.linspace(-2, 2, 12).reshape(3, 4)


class Branches(torch.nn.Module):
    """Two branches that join: an earlier node in the graph need not precede another in the data flow."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.sigmoid(self.left(x)) * 2
        b = torch.exp(self.right(x)) - torch.sin(x)
        return torch.tanh(a + b)


@pytest.fixture(scope="module")
def exported() -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    return torch.export.export(Branches().eval(), (X,))


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a backend whose payloads cannot be opened."""
    monkeypatch.setattr("executorch.devtools.comparison.by_operator.can_open", lambda backend: False)
    monkeypatch.setattr(delegate_bisect, "can_open", lambda backend: False)


def lowered(exported: torch.export.ExportedProgram) -> ExecutorchProgramManager:
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()


def compared(exported: torch.export.ExportedProgram, wrong: type, right: type, patch: pytest.MonkeyPatch) -> Comparison:
    """Compare a program whose backend writes nodes of the kind `wrong` in place of `right`."""
    node = GraphWriter.node

    def confused(self: GraphWriter, made: Any, *rest: Any) -> None:
        node(self, wrong(**vars(made)) if type(made) is right else made, *rest)

    patch.setattr(GraphWriter, "node", confused)
    return compare(exported, lowered(exported), (X,))


@pytest.mark.parametrize(
    ("right", "wrong", "operator"),
    [
        (g.Sigmoid, g.Tanh, "aten.sigmoid.default"),
        (g.Sin, g.Cos, "aten.sin.default"),
    ],
)
def test_an_operator_that_is_compiled_wrongly_is_named(
    exported: torch.export.ExportedProgram, right: type, wrong: type, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compared(exported, wrong, right, monkeypatch)
    assert comparison.first is not None and comparison.outputs_differ and not comparison.notes
    assert comparison.first.operator == operator
    assert comparison.first.ran == "XnnpackBackend: recompiled up to this node"


def test_a_correct_delegate_is_not_compiled_again(exported: torch.export.ExportedProgram) -> None:
    comparison = compare(exported, lowered(exported), (X,))
    assert comparison.first is None and [operator.ran for operator in comparison.operators] == ["XnnpackBackend"]


def test_a_payload_of_another_compiler_is_reported(exported: torch.export.ExportedProgram) -> None:
    from executorch.backends.xnnpack.serialization.payload import ConstantData, deserialize_payload, serialize_payload

    file = deserialize_pte(lowered(exported).buffer)
    graph, data = deserialize_payload(file.program.backend_delegate_data[0].data)
    for index, node in enumerate(graph.xnodes):
        if type(node.xnode_union) is g.Sin:
            graph.xnodes[index] = replace(node, xnode_union=g.Cos(**vars(node.xnode_union)))
    changed = serialize_payload(graph, ConstantData.kept(graph.constant_data, data))
    file.program.backend_delegate_data[0] = BackendDelegateInlineData(changed)
    comparison = compare(exported, bytes(serialize_pte(file)), (X,))
    assert comparison.first is not None and comparison.first.ran == "XnnpackBackend"
    assert "recompiled, its operators are right" in comparison.notes[0] and comparison.notes[0] in str(comparison)
