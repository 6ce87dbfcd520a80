# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The guide to custom compiler passes of ExecuTorch 1.4, recipe by recipe."""

from typing import Any

import pytest
import torch
from torch.export import Dim, export
from torch.fx import GraphModule, subgraph_rewriter
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

from executorch.exir import to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, NodeMetadata, PassBase, PassResult, ProxyValue
from executorch.exir.pass_manager import PassManager
from executorch.exir.passes import CSEPass, DeadCodeEliminationPass

X = torch.randn(3, 3)
KEPT = ("stack_trace", "nn_module_stack", "debug_handle", "from_node")


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(self.linear(x) * x + x, 0.5, training=False).view(-1, x.shape[0])


def test_one_to_one_keeps_the_metadata_of_a_nodes_origin() -> None:
    class ReplaceAddWithSub(ExportPass):
        def call_operator(
            self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata
        ) -> ProxyValue:
            if op == exir_ops.edge.aten.add.Tensor:
                op = exir_ops.edge.aten.sub.Tensor
            return super().call_operator(op, args, kwargs, meta)

    edge = to_edge(export(Block(), (X,)))
    changed = edge.transform([ReplaceAddWithSub()])
    before = [node for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    after = [node for node in changed.exported_program().graph.nodes if node.op == "call_function"]
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert all(old.meta.get(key) == new.meta.get(key) for key in KEPT)
        assert old.meta["debug_handle"] is not None and old.meta["stack_trace"]
        assert new.meta["val"].shape == old.meta["val"].shape


def test_a_pass_removes_an_operator_from_an_aten_graph() -> None:
    class RemoveDropoutPass(ExportPass):
        def call_operator(
            self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata
        ) -> ProxyValue:
            if op != torch.ops.aten.dropout.default:
                return super().call_operator(op, args, kwargs, meta)
            return args[0]

    program = export(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(0.5)).eval(), (X,))
    assert any(node.target is torch.ops.aten.dropout.default for node in program.graph.nodes)
    result = RemoveDropoutPass()(program.graph_module)
    assert result is not None
    assert not any(node.target is torch.ops.aten.dropout.default for node in result.graph_module.graph.nodes)


def test_arithmetic_on_sizes_reaches_call_sym() -> None:
    seen: list[Any] = []

    class Watch(ExportPass):
        def call_sym(self, target: Any, args: tuple[Any, ...], meta: NodeMetadata) -> ProxyValue:
            seen.append(target)
            return super().call_sym(target, args, meta)

    class Sizes(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(x.shape[0] * 2 + 1, 1).sum()

    edge = to_edge(export(Sizes(), (X,), dynamic_shapes=({0: Dim("n", min=2, max=9)},))).transform([Watch()])
    assert len(seen) >= 2
    x = torch.randn(5, 3)
    torch.testing.assert_close(edge.exported_program().module()(x), Sizes()(x))


def test_a_pattern_is_replaced() -> None:
    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(x, y), y)

    def replacement(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.sub.Tensor(x, y)

    class MulAdd(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x * y + y).relu()

    y = torch.randn(3, 3)

    def as_edge(function: Any) -> GraphModule:
        traced = torch.fx.symbolic_trace(function)
        for name in ("add", "mul", "sub"):
            for node in traced.graph.find_nodes(op="call_function", target=getattr(torch.ops.aten, name).Tensor):
                node.target = getattr(exir_ops.edge.aten, name).Tensor
        return traced

    def replace(graph_module: GraphModule) -> PassResult:
        matches = subgraph_rewriter.replace_pattern_with_filters(graph_module, as_edge(pattern), as_edge(replacement))
        return PassResult(graph_module, bool(matches))

    changed = to_edge(export(MulAdd(), (X, y))).transform([replace])
    torch.testing.assert_close(changed.exported_program().module()(X, y), (X - y).relu())
    assert changed.to_executorch().buffer


def test_a_subgraph_is_matched() -> None:
    class LargeModel(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._weight, self._bias = torch.nn.Parameter(torch.ones(3, 3)), torch.nn.Parameter(torch.ones(3, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.aten.addmm.default(self._bias, x, self._weight).relu()

    class PatternModel(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._weight_1, self._bias_1 = torch.nn.Parameter(torch.ones(5, 5)), torch.nn.Parameter(torch.ones(5, 5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.aten.addmm.default(self._bias_1, x, self._weight_1)

    large = to_edge(export(LargeModel(), (X,))).exported_program().graph
    pattern = to_edge(export(PatternModel(), (torch.ones(5, 5),))).exported_program().graph
    matches = SubgraphMatcher(pattern).match(large)
    assert [str(node.target) for match in matches for node in match.nodes_map.values() if "addmm" in str(node.target)]


def test_nodes_are_partitioned_by_capability_and_by_source() -> None:
    class AddMulOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
            supported = (exir_ops.edge.aten.add.Tensor, exir_ops.edge.aten.mul.Tensor)
            return node.op == "call_function" and node.target in supported

    graph_module = to_edge(export(Block(), (X,))).exported_program().graph_module
    partitioner = CapabilityBasedPartitioner(graph_module, AddMulOperatorSupport())
    (partition,) = partitioner.propose_partitions()
    assert len(partition.nodes) == 2
    fused = partitioner.fuse_partitions([partition])
    assert [node for node in fused.graph.nodes if node.op == "call_module"]
    sources = get_source_partitions(export(Block(), (X,)).graph, [torch.nn.Linear])
    assert len(sources[torch.nn.Linear]) == 1


def test_a_pass_manager_checks_between_passes() -> None:
    def no_division(graph_module: GraphModule) -> None:
        if any(node.target == exir_ops.edge.aten.div.Tensor for node in graph_module.graph.nodes):
            raise ValueError("a division")

    class ReplaceAddWithDiv(ExportPass):
        def call_operator(
            self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata
        ) -> ProxyValue:
            target = exir_ops.edge.aten.div.Tensor if op == exir_ops.edge.aten.add.Tensor else op
            return super().call_operator(target, args, kwargs, meta)

    graph_module = to_edge(export(Block(), (X,))).exported_program().graph_module
    manager = PassManager(passes=[CSEPass(), DeadCodeEliminationPass()], run_checks_after_each_pass=True)
    manager.add_checks(no_division)
    assert manager(graph_module).graph_module
    manager.add_pass(ReplaceAddWithDiv())
    with pytest.raises(Exception, match="ReplaceAddWithDiv") as caught:
        manager(graph_module)
    assert "a division" in str(caught.value.__cause__)


def test_passes_that_change_the_graph_and_return_nothing_run_in_a_manager() -> None:
    class ReplaceAddPass(PassBase):
        def __init__(self, replace_op: Any) -> None:
            self.replace_op = replace_op

        def call(self, graph_module: GraphModule) -> None:
            for node in graph_module.graph.find_nodes(op="call_function", target=torch.add):
                node.target = self.replace_op

        def requires(self, graph_module: GraphModule) -> None:
            if not graph_module.graph.find_nodes(op="call_function", target=torch.add):
                raise ValueError("No torch.add ops!")

    class AddTwice(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.add(torch.add(x, y), y)

    manager = PassManager([ReplaceAddPass(torch.div), lambda graph_module: None], run_checks_after_each_pass=True)
    lowered = manager(torch.fx.symbolic_trace(AddTwice()))
    torch.testing.assert_close(lowered.graph_module(X, X + 9), X / (X + 9) / (X + 9))
    with pytest.raises(Exception, match="ReplaceAddPass") as caught:
        manager(lowered.graph_module)
    assert "No torch.add ops!" in str(caught.value.__cause__)
