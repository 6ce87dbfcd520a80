# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""to_edge_transform_and_lower: operators that partitioners preserve, and those of them that they then reject."""

import pytest
import torch
from oracle.tolerances import LAYER
from torch import nn
from torch.export import export

from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.backend_with_preprocess_all_demo import FirstBackendWithPreprocessAll
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.pass_base import ExportPass

LINEAR = torch.ops.aten.linear.default
ATTENTION = torch.ops.aten.scaled_dot_product_attention.default


class TwoLinears(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(4, 4), nn.Linear(4, 8)

    def forward(self, x):
        y = self.small(x).sin()
        return self.large(nn.functional.scaled_dot_product_attention(y, y, y))


class KeepsLinears(Partitioner):
    """Asks for whole linears of one width; takes sines only."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def ops_to_not_decompose(self, ep):
        return [
            LINEAR,
            ATTENTION,
        ], lambda node: node.target != LINEAR or node.meta["val"].shape[-1] == self.width

    def partition(self, exported_program):
        self.seen = [str(node.target) for node in exported_program.graph.nodes if node.op == "call_function"]
        tags = {}
        for node in exported_program.graph.find_nodes(op="call_function", target=exir_ops.edge.aten.sin.default):
            node.meta["delegation_tag"] = "sines"
            tags["sines"] = DelegationSpec(FirstBackendWithPreprocessAll.__name__, [])
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)


@pytest.fixture(scope="module")
def lowered():
    torch.manual_seed(0)
    model, x = TwoLinears(), torch.randn(1, 2, 3, 4)
    partitioner = KeepsLinears(8)
    return model, x, partitioner, to_edge_transform_and_lower(export(model, (x,)), partitioner=[partitioner])


def test_the_partitioner_gets_whole_only_the_operators_that_it_requested(lowered):
    _, _, partitioner, _ = lowered
    assert partitioner.seen.count("aten.linear.default") == 1
    assert "aten.addmm.default" in partitioner.seen
    assert "aten.scaled_dot_product_attention.default" in partitioner.seen


def test_calls_that_the_partitioner_leaves_are_decomposed(lowered):
    model, x, _, manager = lowered
    program = manager.exported_program()
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert not any("linear" in target or "scaled_dot" in target for target in targets)
    assert [lowered_module.backend_id for lowered_module in get_lowered_backend_modules(program.graph_module)] == [
        "FirstBackendWithPreprocessAll"
    ]
    assert program.graph.find_nodes(op="call_function", target=executorch_call_delegate)
    torch.testing.assert_close(program.module()(x), model(x), **LAYER)


def test_a_delegated_program_is_emitted(lowered):
    plan = lowered[3].to_executorch().executorch_program.execution_plan[0]
    assert [delegate.id for delegate in plan.delegates] == ["FirstBackendWithPreprocessAll"]


def test_passes_run_before_partitioners_and_can_be_by_method():
    class SinToCos(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            cos = exir_ops.edge.aten.cos.default
            return super().call_operator(cos if op == exir_ops.edge.aten.sin.default else op, args, kwargs, meta)

    class Sin(nn.Module):
        def forward(self, x):
            return torch.sin(x)

    partitioner = KeepsLinears(8)
    exported = export(Sin(), (torch.randn(3),))
    to_edge_transform_and_lower(
        {"a": exported, "b": exported}, transform_passes={"a": [SinToCos()]}, partitioner={"a": [partitioner]}
    )
    assert partitioner.seen == ["aten.cos.default"]
