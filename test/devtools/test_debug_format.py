# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graphs of a record as viewers of models read them."""

import copy
from pathlib import Path

import pytest
import torch

from executorch.devtools import generate_etrecord, parse_etrecord
from executorch.devtools.debug_format.base_schema import OperatorGraph, OperatorNode, ValueNode
from executorch.devtools.inspector._inspector_utils import (
    EDGE_DIALECT_GRAPH_KEY,
    create_debug_handle_to_op_node_mapping,
    gen_graphs_from_etrecord,
)
from executorch.exir import to_edge


class _Halves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = torch.split(x.relu(), 2, dim=1)
        return first.neg(), torch.cat([first, second], dim=1)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> OperatorGraph:
    path = tmp_path_factory.mktemp("record") / "record.bin"
    edge = to_edge(torch.export.export(_Halves(), (torch.ones(3, 4),)))
    generate_etrecord(str(path), copy.deepcopy(edge), edge.to_executorch())
    return _base(path)


def _base(path: Path) -> OperatorGraph:
    return gen_graphs_from_etrecord(parse_etrecord(str(path)))[EDGE_DIALECT_GRAPH_KEY]


def test_a_program_has_inputs_calls_and_outputs(graph: OperatorGraph) -> None:
    inputs, forward, outputs = graph.elements
    assert isinstance(inputs, OperatorGraph) and isinstance(forward, OperatorGraph)
    assert isinstance(outputs, OperatorGraph)
    assert [shown.graph_name for shown in (graph, inputs, forward, outputs)] == ["base", "inputs", "forward", "outputs"]
    (tensor,) = inputs.elements
    assert isinstance(tensor, ValueNode) and (tensor.output_shapes, tensor.dtype) == ([[3, 4]], [torch.float32])
    calls = {element.op: element for element in forward.elements if isinstance(element, OperatorNode)}
    relu, split, cat = (
        calls["aten.relu.default"],
        calls["aten.split_with_sizes_copy.default"],
        calls["aten.cat.default"],
    )
    assert relu.inputs == [tensor] and relu.named_args == ["self"]
    assert split.inputs is not None and split.inputs[0] is relu and split.output_shapes == [[3, 2], [3, 2]]
    sizes = split.inputs[1]
    assert isinstance(sizes, ValueNode) and sizes.val == [2, 2] and sizes in forward.elements
    assert cat.inputs == [split, split]
    (result,) = outputs.elements
    assert isinstance(result, ValueNode)
    assert result.inputs == [calls["aten.neg.default"], cat] and result.output_shapes == [[3, 2], [3, 4]]


def test_calls_are_found_by_debug_handle(graph: OperatorGraph) -> None:
    mapping = create_debug_handle_to_op_node_mapping(graph)
    names = [node.op for handle in sorted(mapping) for node in mapping[handle]]
    assert names == ["aten.relu.default", "aten.split_with_sizes_copy.default", "aten.neg.default", "aten.cat.default"]
