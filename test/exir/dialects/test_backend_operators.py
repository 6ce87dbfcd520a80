# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backend operators bound to patterns: a pass inserts them, lowering keeps them, tracing shows the pattern again."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from oracle.demo.demo_backends import Takes
from torch.export import export
from torch.fx.passes.infra.pass_base import PassResult
from torch.fx.subgraph_rewriter import replace_pattern

from executorch.exir import to_edge
from executorch.exir.backend.test.demo_backend import DemoBackend
from executorch.exir.backend.utils import get_delegation_info
from executorch.exir.dialects._ops import bind_pattern_to_op, ops
from executorch.exir.dialects.backend._ops import BackendOpOverload
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import ExportPass

NAME = "backend_operators_test"
X, Y = torch.randn(2, 3), torch.randn(2, 3)


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    with torch.library._scoped_library(NAME, "DEF") as library:
        yield library
    vars(ops.backend).pop(NAME, None)
    vars(ops.edge).pop(NAME, None)


def _add_relu(library: torch.library.Library) -> BackendOpOverload:
    @bind_pattern_to_op(library, f"{NAME}::add_relu.Tensor(Tensor x, Tensor y) -> Tensor")
    def add_relu(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)

    library.define("add_relu.out(Tensor x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)")
    op: BackendOpOverload = getattr(ops.backend, NAME).add_relu.Tensor
    assert op._equivalent_callable is add_relu
    return op


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x, y: torch.relu(x + y) * y, lambda x, y: x - y, (x, y)).relu()


class Fuse(ExportPass):
    """Replaces add and relu by one operator, in branches too."""

    def __init__(self, operator: BackendOpOverload) -> None:
        super().__init__()
        self.operator = operator

    def call(self, graph_module: torch.fx.GraphModule) -> PassResult:
        pattern = _chain(ops.edge.aten.add.Tensor, ops.edge.aten.relu.default)
        for module in all_graph_modules(graph_module):
            replace_pattern(module, pattern, _chain(self.operator))
        return super().call(graph_module)


def _chain(*operators: Any) -> torch.fx.GraphModule:
    """Return a graph of calls: the first takes two placeholders, each other the result before it."""
    graph = torch.fx.Graph()
    value = graph.call_function(operators[0], (graph.placeholder("x"), graph.placeholder("y")))
    for operator in operators[1:]:
        value = graph.call_function(operator, (value,))
    graph.output(value)
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _targets(program: Any) -> list[str]:
    return [str(n.target) for module in all_graph_modules(program.graph_module) for n in module.graph.nodes]


def test_a_pass_replaces_a_pattern_and_the_program_calls_the_operator(library: torch.library.Library) -> None:
    edge = to_edge(export(Net(), (X, Y))).transform([Fuse(_add_relu(library))])
    assert f"{NAME}.add_relu.Tensor" in _targets(edge.exported_program())
    for x in (X.abs(), -X.abs()):
        torch.testing.assert_close(edge.exported_program().module()(x, Y), Net()(x, Y))
    plan = edge.to_executorch().executorch_program.execution_plan[0]
    assert (f"{NAME}::add_relu", "out") in {(operator.name, operator.overload) for operator in plan.operators}


def test_tracing_the_program_anew_shows_the_pattern(library: torch.library.Library) -> None:
    edge = to_edge(export(Net(), (X, Y))).transform([Fuse(_add_relu(library))])
    again = to_edge(export(edge.exported_program().module(), (X, Y)))
    targets = _targets(again.exported_program())
    assert "aten.add.Tensor" in targets and f"{NAME}.add_relu.Tensor" not in targets


def test_a_partitioner_takes_a_backend_operator(library: torch.library.Library) -> None:
    edge = to_edge(export(Net(), (X, Y))).transform([Fuse(_add_relu(library))])
    lowered = edge.to_backend(Takes(DemoBackend.__name__, f"{NAME}.add_relu.Tensor"))
    info = get_delegation_info(lowered.exported_program().graph_module)
    assert info.num_delegated_subgraphs == 1
    torch.testing.assert_close(lowered.exported_program().module()(X.abs(), Y), Net()(X.abs(), Y))


def test_an_operator_with_a_kernel_of_its_own_keeps_it_and_its_schema(library: torch.library.Library) -> None:
    library.define("twice(Tensor self) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

    @bind_pattern_to_op(library, "twice")
    def pattern(x: torch.Tensor) -> torch.Tensor:
        return x + x

    twice = getattr(ops.backend, NAME).twice.default
    assert twice._equivalent_callable is pattern and "self" in str(twice._schema)
    assert torch.ops.backend_operators_test.twice.default in {n.target for n in export(_Twice(), (X,)).graph.nodes}


class _Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.backend_operators_test.twice(x)


def test_other_objects_than_backend_operators_are_refused(library: torch.library.Library) -> None:
    with pytest.raises(RuntimeError, match="aten op library does not belong to backend ops"):
        ops.backend.aten  # noqa: B018
    library.define("bare(Tensor self) -> Tensor")
    with pytest.raises(AssertionError, match=f"{NAME}::bare has no kernel"):
        getattr(ops.backend, NAME).bare.default  # noqa: B018
    with pytest.raises(ValueError, match="expected an operator of the library"):
        bind_pattern_to_op(library, "other::op(Tensor x) -> Tensor")(lambda x: x)


def test_backend_operators_are_copied_and_pickled_as_themselves(library: torch.library.Library) -> None:
    operator = _add_relu(library)
    assert copy.deepcopy(operator) is operator and pickle.loads(pickle.dumps(operator)) is operator


def test_without_an_out_variant_the_operator_is_refused_by_name(library: torch.library.Library) -> None:
    @bind_pattern_to_op(library, "lonely(Tensor x, Tensor y) -> Tensor")
    def lonely(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)

    edge = to_edge(export(Net(), (X, Y))).transform([Fuse(getattr(ops.backend, NAME).lonely.default)])
    with pytest.raises(ExportError, match=f"{NAME}::lonely"):
        edge.to_executorch()
