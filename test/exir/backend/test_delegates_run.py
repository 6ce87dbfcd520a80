# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs with delegates of the demo backends match eager, for every kind of delegation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle.demo.demo_backends import DEMO_OPERATORS, Takes
from oracle.demo.demo_runtime import loaded
from torch.export import Dim, export
from torch.utils import _pytree as pytree

from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from executorch.exir.backend.canonical_partitioners.config_partitioner import (
    ConfigerationBasedPartitioner,
    PartitionerConfig,
)
from executorch.exir.backend.canonical_partitioners.group_partitioner import GroupBasedPartitioner
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.demos.rpc.executor_backend_partitioner import ExecutorBackendPartitioner
from executorch.exir.backend.test.op_partitioner_demo import AllNodesPartitionerDemo
from executorch.exir.backend.test.operator_supports import OperatorsNamed
from executorch.exir.schema import DelegateCall

COMPILER, SHARING, EXECUTOR = "BackendWithCompilerDemo", "SharingDemo", "ExecutorBackend"
X, Y = torch.randn(3, 4), torch.randn(3, 4)


class Mixed(torch.nn.Module):
    """Operators that the demo backend supports around one that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))
        self.register_buffer("shift", torch.randn(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = torch.mm(x, self.weight) + self.shift
        b = torch.cos(a) * y
        return torch.sin(b - a), a


def check(model: torch.nn.Module, lowered: Any, *inputs: torch.Tensor, runs: int = 2, data: bytes | None = None) -> Any:
    """Compare runs of the program with eager, each with new inputs of the same shapes. Return the manager."""
    manager = lowered.to_executorch()
    with loaded(bytes(manager.buffer), data) as program, torch.no_grad():
        for _ in range(runs):
            expected = pytree.tree_leaves(model(*inputs))
            for got, wanted in zip(program.run("forward", *inputs), expected, strict=True):
                torch.testing.assert_close(got, wanted)
            inputs = tuple(torch.randn_like(x) if x.is_floating_point() else x for x in inputs)
    return manager


def lower(model: torch.nn.Module, inputs: tuple[Any, ...], *partitioners: Partitioner, **options: Any) -> Any:
    return to_edge_transform_and_lower(export(model.eval(), inputs, **options), partitioner=list(partitioners))


def called(manager: Any, method: int = 0) -> list[str]:
    """The backends of the delegate calls of a method, in the program's order."""
    plan = manager.executorch_program.execution_plan[method]
    calls = [i.instr_args for chain in plan.chains for i in chain.instructions]
    return [plan.delegates[call.delegate_index].id for call in calls if isinstance(call, DelegateCall)]


def _tagging(propose: Callable[[Any], Any]) -> Partitioner:
    """A partitioner that tags what `propose` finds in a graph module."""

    class Tagging(Partitioner):
        def partition(self, exported_program: Any) -> PartitionResult:
            tags = {}
            for partition in propose(exported_program.graph_module):
                tag = f"t{partition.id}"
                tags[tag] = DelegationSpec(COMPILER, [])
                for node in partition.nodes:
                    node.meta["delegation_tag"] = tag
            return PartitionResult(exported_program, tags)

    return Tagging()


def _mul_sub_pattern() -> torch.fx.Graph:
    return to_edge(export(_MulSub(), tuple(torch.randn(3, 4) for _ in range(3)))).exported_program().graph


class _MulSub(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return x * y - z


def _by_pattern() -> Partitioner:
    return _tagging(lambda module: generate_pattern_op_partitions(module, patterns=[_mul_sub_pattern()]))


def _by_group() -> Partitioner:
    support = OperatorsNamed(*DEMO_OPERATORS)
    return _tagging(lambda module: GroupBasedPartitioner(module, support, True).propose_partitions())


class _Operator(PartitionerConfig):
    def check_constraints(self, node: Any, ep: Any) -> bool:
        return True

    def get_original_aten(self) -> Any:
        return None

    def get_partition(self, node: Any, ep: Any) -> list[Any]:
        return [node]


class _Mul(_Operator):
    target_name = "mul.Tensor"


class _Sin(_Operator):
    target_name = "sin.default"


PARTITIONERS: dict[str, tuple[Callable[[], Partitioner], list[str]]] = {
    "pattern": (_by_pattern, [COMPILER]),
    "group": (_by_group, [COMPILER, COMPILER]),
    "operators": (lambda: Takes(COMPILER, *DEMO_OPERATORS), [COMPILER, COMPILER]),
    "config": (lambda: ConfigerationBasedPartitioner(DelegationSpec(COMPILER, []), [_Mul(), _Sin()]), [COMPILER] * 2),
    "all nodes": (lambda: AllNodePartitioner(EXECUTOR, []), [EXECUTOR]),
    "all nodes with constants": (AllNodesPartitionerDemo, [EXECUTOR]),
}


@pytest.mark.parametrize("kind", PARTITIONERS)
def test_every_kind_of_partitioner(kind: str) -> None:
    make, delegates = PARTITIONERS[kind]
    model = Mixed()
    assert called(check(model, lower(model, (X, Y), make()), X, Y)) == delegates


def test_a_lowered_module_is_composed_into_a_program_that_delegates_more() -> None:
    class Inner(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sin(x) * x

    class Outer(torch.nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result = self.inner(x)
            return torch.cos(result[0] if isinstance(result, (tuple, list)) else result) + x

    inner = to_backend(COMPILER, to_edge(export(Inner(), (X,))).exported_program(), [])
    model = Outer(Inner())
    composed = check(model, lower(Outer(inner), (X,), Takes(COMPILER, "aten.add.Tensor")), X)
    assert called(composed) == [COMPILER] * 2
    everything = to_backend(EXECUTOR, to_edge(export(Outer(inner), (X,))).exported_program(), [])
    with loaded(everything.buffer()) as program:
        torch.testing.assert_close(program.run("forward", X)[0], model(X))


def test_several_backends_in_one_program() -> None:
    model = Mixed()
    partitioners = Takes(COMPILER, "aten.mm.default", "aten.add.Tensor"), Takes(EXECUTOR, "aten.cos.default")
    lowered = lower(model, (X, Y), *partitioners, Takes(SHARING, "aten.mul.Tensor", "aten.sub.Tensor"))
    assert sorted(called(check(model, lowered, X, Y))) == sorted([COMPILER, EXECUTOR, SHARING])


def test_delegates_take_any_size_within_the_bound() -> None:
    model = Mixed()
    rows = Dim("rows", min=1, max=6)
    shapes = {"x": {0: rows}, "y": {0: rows}}
    for partitioner in (Takes(COMPILER, *DEMO_OPERATORS), AllNodesPartitionerDemo()):
        manager = lower(model, (X, Y), partitioner, dynamic_shapes=shapes).to_executorch()
        with loaded(bytes(manager.buffer)) as program, torch.no_grad():
            for size in (6, 1, 3):
                x, y = torch.randn(size, 4), torch.randn(size, 4)
                for got, wanted in zip(program.run("forward", x, y), model(x, y), strict=True):
                    torch.testing.assert_close(got, wanted)


class Cond(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def outer(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.mean() > 0.2, lambda x: torch.sin(x) * x, lambda x: torch.cos(x) - x, (x * x,))

        return torch.cond(x.sum() > 0, outer, lambda x: x - torch.sin(x), (x + x,)) * x


class Map(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch._higher_order_ops.map(lambda row, y: torch.sin(row) * y[0] + row, x * x, x)


class While(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def go_on(i: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return i + i < 6

        def step(i: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return i + 1.0, torch.cond(x.sum() > 1, lambda x: torch.sin(x) - x, lambda x: x * x + x, (x,))

        return torch.while_loop(go_on, step, (torch.tensor(0.0), x * x))[1]


class Scan(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def step(sum_: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            sum_ = sum_ * 0.5 + row
            return sum_, torch.sin(sum_)

        last, every = torch._higher_order_ops.scan(step, x[0] * 2, x, dim=0)
        return last, every


NESTS = [Cond, Map, While, Scan]


@pytest.mark.sampled
@pytest.mark.parametrize("nest", NESTS)
def test_delegates_inside_control_flow(nest: type[torch.nn.Module]) -> None:
    model = nest()
    partitioners = Takes(COMPILER, *DEMO_OPERATORS[:4]), Takes(EXECUTOR, "aten.cos.default")
    for x in (X, -X.abs(), X.abs()):
        manager = check(model, lower(model, (x,), *partitioners), x, runs=3)
        assert len(called(manager)) >= 1 and COMPILER in called(manager)


@pytest.mark.sampled
@pytest.mark.parametrize("nest", NESTS)
def test_control_flow_inside_a_delegate(nest: type[torch.nn.Module]) -> None:
    model = nest()
    for x in (X, -X.abs(), X.abs()):
        manager = check(model, lower(model, (x,), AllNodesPartitionerDemo()), x, runs=3)
        assert called(manager) == [EXECUTOR]


@pytest.mark.parametrize("nest", NESTS)
def test_delegates_in_control_flow_in_a_delegate(nest: type[torch.nn.Module]) -> None:
    model = nest()
    partitioners = Takes(COMPILER, *DEMO_OPERATORS[:4]), ExecutorBackendPartitioner()
    assert called(check(model, lower(model, (X,), *partitioners), X, runs=3)) == [EXECUTOR]


class Accumulator(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.randn(3, 4))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before = torch.sin(self.total)
        self.total.mul_(0.5).add_(x)
        self.count.add_(1.0)
        return before * self.total, self.count * 2.0


@pytest.mark.parametrize("partitioner", [Takes(COMPILER, *DEMO_OPERATORS), Takes(EXECUTOR, *DEMO_OPERATORS)])
def test_a_delegate_owns_its_mutable_buffers(partitioner: Partitioner) -> None:
    lowered = lower(Accumulator(), (X,), partitioner)
    assert not lowered.exported_program().graph_signature.buffers_to_mutate
    manager = lowered.to_executorch()
    for _ in range(2):  # state starts again from its initial values at each load
        with loaded(bytes(manager.buffer)) as program:
            outputs = [program.run("forward", x) for x in (X, Y, X)]
        assert [float(count) for _, count in outputs] == [2.0, 4.0, 6.0]


def test_state_in_a_delegate_follows_eagers_state() -> None:
    for partitioner in (Takes(COMPILER, *DEMO_OPERATORS), AllNodesPartitionerDemo()):
        model = Accumulator()
        lowered = lower(model, (X,), partitioner)
        check(model, lowered, X, runs=3)


class Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(4, 3))

    def forward(self, query: torch.Tensor, key: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys[position] = key
        return self.keys.mm(query.transpose(0, 1))


def test_a_cache_lives_in_its_delegate() -> None:
    model = Cache()
    inputs = torch.randn(1, 3), torch.randn(1, 3), torch.tensor([0])
    lowered = lower(model, inputs, AllNodesPartitionerDemo())
    assert not lowered.exported_program().graph_signature.buffers_to_mutate
    with loaded(bytes(lowered.to_executorch().buffer)) as program:
        for position in (0, 2, 2, 1):
            inputs = torch.randn(1, 3), torch.randn(1, 3), torch.tensor([position])
            torch.testing.assert_close(program.run("forward", *inputs)[0], model(*inputs))


class TwoMethods(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(torch.mm(x, self.weight)) * self.weight[0]

    def decode(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm(torch.sin(x), self.weight) + x


def _methods(model: TwoMethods) -> dict[str, Any]:
    class Method(torch.nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.weight = model.weight
            self.name = name

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return getattr(TwoMethods, self.name)(self, x)

    return {name: export(Method(name), (X,)) for name in ("encode", "decode")}


@pytest.mark.parametrize("file", [None, "weights"])
def test_methods_and_delegates_share_weights_by_name(file: str | None) -> None:
    model = TwoMethods()
    specs = () if file is None else (CompileSpec("file", file.encode()),)
    partitioner = Takes(SHARING, *DEMO_OPERATORS, specs=specs)
    manager = to_edge_transform_and_lower(_methods(model), partitioner=[partitioner]).to_executorch()
    weights = model.weight.detach().numpy().tobytes()
    data = None if file is None else manager.data_files[file]
    assert (bytes(manager.buffer) + (data or b"")).count(weights) == 1
    if file is not None:
        assert weights not in bytes(manager.buffer)
        with loaded(bytes(manager.buffer)) as program, pytest.raises(RuntimeError, match=r"named \"weight\""):
            program.run("decode", X)
    with loaded(bytes(manager.buffer), data) as program, torch.no_grad():
        for name in ("encode", "decode"):
            torch.testing.assert_close(program.run(name, X)[0], getattr(model, name)(X))


def test_each_method_may_have_its_own_backend() -> None:
    model = TwoMethods()
    partitioners = {"encode": [Takes(EXECUTOR, "aten.cos.default", "aten.mm.default")], "decode": []}
    partitioners["decode"] = [Takes(COMPILER, *DEMO_OPERATORS)]
    manager = to_edge_transform_and_lower(_methods(model), partitioner=partitioners).to_executorch()
    names = [plan.name for plan in manager.executorch_program.execution_plan]
    assert set(called(manager, names.index("encode"))) == {EXECUTOR}
    assert set(called(manager, names.index("decode"))) == {COMPILER}
    with loaded(bytes(manager.buffer)) as program, torch.no_grad():
        for name in ("encode", "decode"):
            torch.testing.assert_close(program.run(name, X)[0], getattr(model, name)(X))


class RandomGraph(torch.nn.Module):
    """A seeded graph of operators with many users, on several backends' operators in turn."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.plan = []
        generator = torch.Generator().manual_seed(seed)

        def pick(limit: int) -> int:
            return int(torch.randint(limit, (1,), generator=generator))

        self.plan = [(pick(6), pick(2 + step), pick(2 + step)) for step in range(16)]

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        binary = (torch.add, torch.sub, torch.mul)
        unary = (torch.sin, torch.cos, torch.tanh)
        values = [x, y]
        for operator, a, b in self.plan:
            done = binary[operator](values[a], values[b]) if operator < 3 else unary[operator - 3](values[a])
            values.append(done * 0.5)
        return tuple(values[-3:])


@pytest.mark.parametrize("seed", range(8))
def test_partitions_of_two_backends_are_callable_in_random_graphs(seed: int) -> None:
    model = RandomGraph(seed)
    takes = (
        Takes(COMPILER, "aten.sin.default", "aten.sub.Tensor"),
        Takes(EXECUTOR, "aten.mul.Tensor", "aten.cos.default"),
    )
    check(model, lower(model, (X, Y), *takes), X, Y, runs=1)


@pytest.mark.parametrize("segments", [False, True])
def test_payloads_lie_in_the_program_or_in_segments(segments: bool) -> None:
    model = Mixed()
    lowered = lower(model, (X, Y), Takes(COMPILER, *DEMO_OPERATORS))
    manager = lowered.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=segments))
    with loaded(bytes(manager.buffer)) as program, torch.no_grad():
        torch.testing.assert_close(program.run("forward", X, Y)[0], model(X, Y)[0])
