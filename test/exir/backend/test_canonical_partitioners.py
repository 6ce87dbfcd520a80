# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Canonical partitioners: the partitions they propose are as large as can be, can be called, and are stable."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase

from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from executorch.exir.backend.canonical_partitioners.config_partitioner import (
    ConfigerationBasedPartitioner,
    PartitionerConfig,
    format_target_name,
)
from executorch.exir.backend.canonical_partitioners.group_partitioner import GroupBasedPartitioner
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    generate_grouped_partitions_from_list_of_nodes,
    generate_partitions_from_list_of_nodes,
    generate_pattern_op_partitions,
)
from executorch.exir.backend.operator_support import (
    DontPartition,
    DontPartitionModule,
    DontPartitionName,
    any_chain,
    chain,
)
from executorch.exir.backend.partition.partition_error import PartitionError
from executorch.exir.backend.partition.partition_order import contracted_order
from executorch.exir.backend.partitioner import DelegationSpec
from executorch.exir.backend.test.demo_backend import DemoBackend
from executorch.exir.backend.test.demo_payload import operator_of
from executorch.exir.backend.test.operator_supports import OperatorsNamed
from executorch.exir.lowered_backend_module import get_lowered_backend_modules


def core_aten(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> ExportedProgram:
    return torch.export.export(model.eval(), inputs).run_decompositions()


def names(partitions: list[Partition]) -> list[list[str]]:
    return [[node.name for node in partition.nodes] for partition in partitions]


class Chain(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = torch.mm(x, y) + y
        b = a.cos()
        return torch.mm(b, y) + a, y.sin()


INPUTS = (torch.randn(2, 2), torch.randn(2, 2))
MM_ADD = OperatorsNamed("aten.mm.default", "aten.add.Tensor")


def nodes_of(program: ExportedProgram, *wanted: str) -> list[Node]:
    by_name = {node.name: node for node in program.graph.nodes}
    return [by_name[name] for name in wanted]


def test_partitions_are_the_largest_that_can_be_called_numbered_along_the_graph() -> None:
    partitions = generate_pattern_op_partitions(core_aten(Chain(), INPUTS).graph_module, op_support=MM_ADD)
    assert [partition.id for partition in partitions] == [0, 1]
    assert names(partitions) == [["mm", "add"], ["mm_1", "add_1"]]


def test_nodes_that_do_not_touch_share_a_partition() -> None:
    support = OperatorsNamed("aten.mm.default", "aten.add.Tensor", "aten.sin.default", "aten.cos.default")
    partitions = generate_pattern_op_partitions(core_aten(Chain(), INPUTS).graph_module, op_support=support)
    assert len(partitions) == 1 and len(partitions[0].nodes) == 6


def test_patterns_and_lists_of_nodes_are_found() -> None:
    program = core_aten(Chain(), INPUTS)

    class Pattern(torch.nn.Module):  # three different values, as in the second half of Chain only
        def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
            return torch.mm(x, y) + z

    pattern = core_aten(Pattern(), (*INPUTS, torch.randn(2, 2))).graph_module.graph
    assert names(generate_pattern_op_partitions(program.graph_module, patterns=[pattern])) == [["mm_1", "add_1"]]
    chosen = nodes_of(program, "cos", "sin")
    assert names(generate_pattern_op_partitions(program.graph_module, partitions_list=[chosen])) == [["cos", "sin"]]
    assert names(generate_partitions_from_list_of_nodes(program.graph_module, [chosen])) == [["cos", "sin"]]
    with pytest.raises(ValueError, match="found none of them"):
        generate_pattern_op_partitions(program.graph_module)


def test_a_group_stays_together() -> None:
    program = core_aten(Chain(), INPUTS)
    group = nodes_of(program, "mm", "sin")
    (partition,) = generate_grouped_partitions_from_list_of_nodes(program.graph_module, [group])
    assert {node.name for node in partition.nodes} == {"mm", "sin"}


def test_a_group_that_no_call_could_replace_is_named() -> None:
    program = core_aten(Chain(), INPUTS)
    with pytest.raises(PartitionError, match=r"(?s)group 0.*add .*is used by cos.*cos .*is used by mm_1"):
        generate_grouped_partitions_from_list_of_nodes(program.graph_module, [nodes_of(program, "add", "add_1")])


def test_groups_that_wait_for_each_other_are_delegated_together() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    a, b = graph.call_function(abs, (x,)), graph.call_function(abs, (x,))
    c, d = graph.call_function(abs, (b,)), graph.call_function(abs, (a,))
    between = graph.call_function(abs, (d,))
    graph.output((c, between))
    module = GraphModule(torch.nn.Module(), graph)
    (both,) = generate_grouped_partitions_from_list_of_nodes(module, [[a, c], [b, d]])
    assert set(both.nodes) == {a, b, c, d}
    (with_between,) = GroupBasedPartitioner(
        module, Wanted({n.name for n in (a, d, between)}), True, node_groups=[[a, between]]
    ).propose_partitions()
    assert set(with_between.nodes) == {a, d, between}


def test_a_getitem_is_in_the_partition_of_its_list() -> None:
    class Parts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second = torch.split(x, 1)
            return first.sin().tan() + second

    program = core_aten(Parts(), INPUTS[:1])
    split, item, add = (next(n for n in program.graph.nodes if n.name.startswith(s)) for s in ("split", "get", "add"))
    supports = Wanted({split.name, item.name, add.name})
    partitions = GroupBasedPartitioner(program.graph_module, supports, True, node_groups=[[item]]).propose_partitions()
    assert [set(partition.nodes) for partition in partitions] == [{split, item}, {add}]


def test_a_node_is_in_one_group_only() -> None:
    program = core_aten(Chain(), INPUTS)
    groups = [nodes_of(program, "mm"), nodes_of(program, "mm", "add")]
    with pytest.raises(ValueError, match="Node mm exists in multiple groups"):
        GroupBasedPartitioner(program.graph_module, MM_ADD, node_groups=groups)


def test_single_operators_are_left_unless_allowed() -> None:
    module = core_aten(Chain(), INPUTS).graph_module
    only_cos = OperatorsNamed("aten.cos.default")
    assert not GroupBasedPartitioner(module, only_cos).propose_partitions()
    allowed = GroupBasedPartitioner(module, only_cos, allowed_single_node_partition_ops=["torch.ops.aten.cos.default"])
    assert names(allowed.propose_partitions()) == [["cos"]]
    free = GroupBasedPartitioner(module, MM_ADD, non_compute_ops=["torch.ops.aten.add.Tensor"])
    assert not free.propose_partitions()


class MulConfig(PartitionerConfig):
    def __init__(self, target_name: str, with_inputs: bool) -> None:
        self.target_name = target_name
        self.with_inputs = with_inputs

    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        return node.meta["val"].dim() == 2

    def get_original_aten(self) -> torch._ops.OpOverload | None:
        return torch.ops.aten.linear.default if self.target_name == "linear.default" else None

    def get_partition(self, node: Node, ep: ExportedProgram) -> list[Node]:
        return [node, *(source for source in node.all_input_nodes if self.with_inputs)]


class WithWeights(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm(torch.mm(x.sin(), self.w).cos(), self.w)


def test_configurations_bring_the_nodes_they_name_and_their_constants() -> None:
    program = core_aten(WithWeights(), INPUTS[:1])
    spec = DelegationSpec(DemoBackend.__name__, [])
    partitioner = ConfigerationBasedPartitioner(spec, [MulConfig("mm.default", with_inputs=True)])
    lowered = to_backend(program, partitioner)
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    inner = module.original_module
    called = [operator_of(node) for node in inner.graph.nodes if node.op == "call_function"]
    assert called == ["aten.sin.default", "aten.mm.default", "aten.cos.default", "aten.mm.default"]
    assert set(inner.state_dict) == {"w"} and not lowered.state_dict
    model = WithWeights()
    program = core_aten(model, INPUTS[:1])
    torch.testing.assert_close(to_backend(program, partitioner).module()(INPUTS[0]), model(INPUTS[0]))


def test_a_configuration_keeps_its_operator_whole_where_its_constraints_hold() -> None:
    partitioner = ConfigerationBasedPartitioner(
        DelegationSpec(DemoBackend.__name__, []), [MulConfig("linear.default", with_inputs=False)]
    )
    program = torch.export.export(torch.nn.Linear(2, 3), INPUTS[:1])
    operators, keep = partitioner.ops_to_not_decompose(program)
    assert operators == [torch.ops.aten.linear.default] and keep is not None
    (linear,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.linear.default)
    assert keep(linear) and not keep(program.graph.output_node())


def test_two_configurations_for_one_operator_are_refused() -> None:
    configs = [MulConfig("mm.default", True), MulConfig("mm.default", False)]
    with pytest.raises(RuntimeError, match=r"same target_name: mm.default"):
        ConfigerationBasedPartitioner(DelegationSpec("DemoBackend", []), configs)


@pytest.mark.parametrize(
    ("full", "short"), [("aten.add.Tensor", "add.Tensor"), ("linear.default", "linear.default"), ("add", "add")]
)
def test_target_names_lose_their_namespace(full: str, short: str) -> None:
    assert format_target_name(full) == short


def test_all_nodes_go_to_one_backend() -> None:
    model = WithWeights()
    lowered = to_backend(core_aten(model, INPUTS[:1]), AllNodePartitioner(DemoBackend.__name__, []))
    assert len(get_lowered_backend_modules(lowered.graph_module)) == 1
    assert not lowered.state_dict and len(lowered.graph_signature.input_specs) == 1
    torch.testing.assert_close(lowered.module()(INPUTS[0]), model(INPUTS[0]))


class Everything(OperatorSupportBase):
    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node.op == "call_function"


def test_checks_hold_back_operators_names_and_modules_and_remember_them() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Chain()

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.inner(x, y)[0].tan()

    module = core_aten(Outer(), INPUTS).graph_module
    checks = [
        (DontPartition(torch.ops.aten.mm.default), {"mm", "mm_1"}),
        (DontPartition("aten.cos", exact=False), {"cos"}),
        (DontPartitionName("add_1"), {"add_1"}),
        (DontPartitionName("mm", exact=False), {"mm", "mm_1"}),
        (DontPartitionModule(module_name="Chain"), {"mm", "add", "cos", "mm_1", "add_1"}),
        (DontPartitionModule(instance_name="inner"), {"mm", "add", "cos", "mm_1", "add_1"}),
    ]
    for check, expected in checks:
        refused = {n.name for n in module.graph.nodes if n.op == "call_function" and not check.is_node_supported({}, n)}
        assert expected <= refused, check
        assert check.has_rejected_node() and check.num_rejected() == len(check.rejected_nodes())
    both = chain(any_chain(MM_ADD, Everything()), DontPartitionName("cos"))
    refused = {n.name for n in module.graph.nodes if n.op == "call_function" and not both.is_node_supported({}, n)}
    assert refused == {"cos"}


@st.composite
def random_graphs(draw: st.DrawFn) -> tuple[GraphModule, set[str]]:
    graph = Graph()
    nodes = [graph.placeholder("x")]
    for _ in range(draw(st.integers(1, 14))):
        arguments = tuple(draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3)))
        nodes.append(graph.call_function(max, arguments))
    graph.output(tuple(nodes[-2:]))
    wanted = draw(st.sets(st.sampled_from([node.name for node in nodes[1:]])))
    return GraphModule(torch.nn.Module(), graph), wanted


class Wanted(OperatorSupportBase):
    def __init__(self, wanted: set[str]) -> None:
        super().__init__()
        self.wanted = wanted

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node.name in self.wanted


@settings(max_examples=150, deadline=None)
@given(random_graphs())
def test_whatever_the_graph_proposed_partitions_hold_all_wanted_nodes_and_can_be_called(
    case: tuple[GraphModule, set[str]],
) -> None:
    module, wanted = case
    partitions = GroupBasedPartitioner(module, Wanted(wanted), True).propose_partitions()
    found = [node.name for partition in partitions for node in partition.nodes]
    assert sorted(found) == sorted(wanted)
    partition_of = {node: str(partition.id) for partition in partitions for node in partition.nodes}
    order = contracted_order(module.graph, partition_of)
    place = {node: position for position, node in enumerate(order)}
    assert all(place[source] < place[node] for node in order for source in node.all_input_nodes)
    for partition in partitions:
        places = sorted(place[node] for node in partition.nodes)
        assert places == list(range(places[0], places[0] + len(places)))
    assert len(partitions) == _runs_on_the_worst_path(module.graph, wanted)
    torchs = CapabilityBasedPartitioner(module, Wanted(wanted), allows_single_node_partition=True)
    assert len(partitions) <= len(torchs.propose_partitions())


def _runs_on_the_worst_path(graph: Graph, wanted: set[str]) -> int:
    """Maximum number of runs of wanted nodes on a path; other nodes separate the runs, so each needs its own call."""
    runs: dict[tuple[Node, bool], int] = {}
    for node in graph.nodes:
        inside = node.name in wanted
        runs[node, inside] = max(
            (count + (inside and not was) for (source, was), count in runs.items() if source in node.all_input_nodes),
            default=int(inside),
        )
    return max(runs.values())
