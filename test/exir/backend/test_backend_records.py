# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The small things around delegation: named data, debug maps, reports of refusals, comparing graphs."""

from __future__ import annotations

import logging

import pytest
import torch
from torch.fx import Graph, GraphModule, Node

from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.partition.validation import validation_disabled, validation_enabled
from executorch.exir.backend.test.backend_with_delegate_mapping_demo import BackendWithDelegateMappingDemo
from executorch.exir.backend.utils import (
    DelegateMappingBuilder,
    WhyNoPartition,
    WhyNoPartitionReporter,
    is_identical_graph,
    is_shape_dynamic,
)
from executorch.exir.scalar_type import ScalarType


def test_equal_bytes_are_stored_once_under_all_their_names() -> None:
    store = NamedDataStore()
    store.add_named_data("a", b"same", alignment=4)
    store.add_named_data("b", b"same")
    store.add_named_data("c", b"other", external_tag="file")
    output = store.get_named_data_store_output()
    assert output.buffers == [b"same", b"other"]
    assert output.pte_data["a"].buffer_index == output.pte_data["b"].buffer_index == 0
    assert list(output.external_data) == ["file"] and output.external_data["file"]["c"].buffer_index == 1


def test_a_name_added_again_raises_its_alignment_and_must_have_the_same_bytes() -> None:
    store = NamedDataStore()
    store.add_named_data("a", b"same", alignment=4)
    store.add_named_data("a", b"same", alignment=6)
    assert store.get_named_data_store_output().pte_data["a"].alignment == 12
    with pytest.raises(ValueError, match="'a' exists with other content: 4 bytes stored, 3 bytes given"):
        store.add_named_data("a", b"new")
    assert store.buffers == [b"same"]
    with pytest.raises(ValueError, match="alignment must be at least 1"):
        store.add_named_data("z", b"", alignment=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int8])
def test_tensors_are_stored_with_their_layout(dtype: torch.dtype) -> None:
    tensor = (torch.randn(1, 2, 3, 4) > 0).to(dtype).to(memory_format=torch.channels_last)
    store = NamedDataStore()
    store.add_named_data("t", tensor)
    entry = store.get_named_data_store_output().pte_data["t"]
    assert entry.tensor_layout is not None
    assert (entry.tensor_layout.sizes, entry.tensor_layout.dim_order) == ([1, 2, 3, 4], [0, 2, 3, 1])
    in_order = tensor.permute(0, 2, 3, 1).contiguous()
    assert store.buffers[0] == in_order.view(torch.uint8).numpy().tobytes()
    if dtype is torch.float32:
        assert entry.tensor_layout.scalar_type == ScalarType.FLOAT
    with pytest.raises(ValueError, match="strides"):
        store.add_named_data("s", torch.zeros(4, 4)[:, ::2])


def test_merging_stores_keeps_files_apart_and_refuses_conflicts() -> None:
    one, two = NamedDataStore(), NamedDataStore()
    one.add_named_data("a", b"1")
    two.add_named_data("a", b"1")
    two.add_named_data("b", b"2", external_tag="file")
    one.merge_named_data_store(two.get_named_data_store_output())
    output = one.get_named_data_store_output()
    assert set(output.pte_data) == {"a"} and set(output.external_data["file"]) == {"b"}
    other = NamedDataStore()
    other.add_named_data("b", b"3")
    with pytest.raises(ValueError, match="'b' exists with other content"):
        one.merge_named_data_store(other.get_named_data_store_output())


def some_nodes(*handles: int | None) -> list[Node]:
    graph = Graph()
    nodes = []
    for handle in handles:
        nodes.append(graph.call_function(max, ()))
        if handle is not None:
            nodes[-1].meta["debug_handle"] = handle
    return nodes


def test_delegate_mappings_take_nodes_or_handles_by_given_or_generated_identifiers() -> None:
    given = DelegateMappingBuilder()
    assert given.insert_delegate_mapping_entry(nodes=some_nodes(3, None, 1, 3), identifier="conv") == "conv"
    assert given.insert_delegate_mapping_entry(handles=7, identifier=5) == 5
    assert given.get_delegate_mapping() == {"conv": (1, 3), 5: (7,)}
    generated = DelegateMappingBuilder(generated_identifiers=True)
    assert [generated.insert_delegate_mapping_entry(handles=[handle]) for handle in (4, 2)] == [0, 1]


@pytest.mark.parametrize(
    ("generated", "arguments", "why"),
    [
        (False, {"identifier": 1}, "found neither"),
        (False, {"identifier": 1, "handles": 1, "nodes": []}, "found both"),
        (False, {"handles": 1}, "expected an identifier"),
        (True, {"handles": 1, "identifier": 1}, "identifiers are generated"),
        (True, {"handles": [None]}, "no debug handle"),
    ],
)
def test_wrong_delegate_mapping_entries_are_refused(generated: bool, arguments: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        DelegateMappingBuilder(generated).insert_delegate_mapping_entry(**arguments)  # type: ignore[arg-type]


def test_reasons_for_not_partitioning_are_logged_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    (node,) = some_nodes(1)
    with caplog.at_level(logging.DEBUG):
        WhyNoPartition(logging.getLogger("mine"))(node, "it is too large")
    assert "was not partitioned because it is too large" in caplog.text
    reporter = WhyNoPartitionReporter()
    assert reporter.get_table_report() == "No nodes rejected."
    reporter.report_reject(node, "first")
    reporter.report_reject(node, "second")
    table = reporter.get_table_report()
    assert "first" in table and "second" not in table and node.name in table


def test_graphs_are_compared_by_operators_and_wiring() -> None:
    def make(swapped: bool) -> GraphModule:
        graph = Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y")
        graph.output(graph.call_function(max, (y, x) if swapped else (x, y)))
        return GraphModule(torch.nn.Module(), graph)

    assert is_identical_graph(make(False), make(False))
    assert not is_identical_graph(make(False), make(True))
    longer = make(False)
    longer.graph.placeholder("z")
    assert not is_identical_graph(make(False), longer)


def test_dynamic_shapes_are_distinguished_from_static_ones() -> None:
    class Id(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.sin() + y

    program = torch.export.export(
        Id(), (torch.randn(3), torch.randn(1)), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=9)}, None)
    )
    x, y = program.graph.find_nodes(op="placeholder")
    assert is_shape_dynamic(x) and not is_shape_dynamic(y)


def test_validation_is_off_inside_its_block_only() -> None:
    assert validation_enabled()
    with validation_disabled():
        assert not validation_enabled()
    assert validation_enabled()


def test_a_backend_that_fuses_and_divides_operators_maps_them_to_debug_handles() -> None:
    model, inputs = BackendWithDelegateMappingDemo.get_test_model_and_inputs()
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge(torch.export.export(model.eval(), inputs), compile_config=config).exported_program()
    handles = {
        name: [
            node.meta["debug_handle"] for node in edge.graph.nodes if node.op == "call_function" and name in node.name
        ]
        for name in ("convolution", "relu", "tan")
    }
    lowered = to_backend(BackendWithDelegateMappingDemo.__name__, edge, [])
    (tan,) = handles["tan"]
    fused = [tuple(sorted(pair)) for pair in zip(handles["convolution"], handles["relu"], strict=True)]
    assert lowered.meta["debug_handle_map"] == {0: fused[0], 1: fused[1], 2: (tan,), 3: (tan,), 4: (tan,)}
    steps = b"sin_decomp_from_tan,2,cos_decomp_from_tan,3,div_decomp_from_tan,4,"
    assert lowered.processed_bytes == b"5#conv_relu_op,0,conv_relu_op,1," + steps
    loaded = to_edge(torch.export.export(lowered, inputs)).to_executorch().executorch_program
    assert [delegate.id for delegate in loaded.execution_plan[0].delegates] == [BackendWithDelegateMappingDemo.__name__]


@pytest.mark.parametrize(
    ("model", "operator"),
    [(torch.nn.Conv2d(1, 1, 1), "aten.convolution.default"), (torch.nn.ReLU(), "aten.relu.default")],
)
def test_a_backend_that_fuses_operators_refuses_one_without_the_other(model: torch.nn.Module, operator: str) -> None:
    edge = to_edge(torch.export.export(model, (torch.randn(1, 1, 2, 2),))).exported_program()
    with pytest.raises(RuntimeError, match=f"call_function {operator}.*not supported in backend BackendWithDelegate"):
        to_backend(BackendWithDelegateMappingDemo.__name__, edge, [])
