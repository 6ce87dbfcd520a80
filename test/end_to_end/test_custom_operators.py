# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators of users' own, of every kind, from eager PyTorch to their kernels in the runtime.

The kernels are those of test/backends/python/custom_operators.cpp.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.demo.demo_runtime import loaded
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export
from torch.library import Library
from torch.utils import _pytree as pytree

from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec
from executorch.exir.backend.test.demos.rpc.executor_backend_partitioner import ExecutorBackendPartitioner
from executorch.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
from executorch.exir.error import ExportError

OWN = ExecutorchBackendConfig(check_target=False)  # the installed kernel libraries do not have these operators
ops = torch.ops.test_custom


def _affine(x: torch.Tensor, scale: float, shift: int | None = None) -> torch.Tensor:
    return x * scale + (shift or 0)


def _signs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.clamp(min=0), x.clamp(max=0)


def _blend(xs: Sequence[torch.Tensor], weights: Sequence[float], bias: torch.Tensor | None = None) -> torch.Tensor:
    total = torch.zeros_like(xs[0]) if bias is None else bias.clone()
    for x, weight in zip(xs, weights, strict=True):
        total = total + x * weight
    return total


def _accumulate(state: torch.Tensor, x: torch.Tensor) -> None:
    state.add_(x)


def _accumulate_all(states: Sequence[torch.Tensor], x: torch.Tensor) -> None:
    for state in states:
        state.add_(x)


def _step(state: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return state.add_(x) * 2


SCHEMAS = {
    "accumulate_(Tensor(a!) state, Tensor x{}) -> {}": (_accumulate, ()),
    "accumulate_all_(Tensor(a!)[] states, Tensor x{}) -> {}": (_accumulate_all, ()),
    "step(Tensor(a!) state, Tensor x{}) -> {}": (_step, ("out",)),
    "affine(Tensor x, float scale, int? shift=None{}) -> {}": (_affine, ("out",)),
    "signs(Tensor x{}) -> {}": (_signs, ("positive", "negative")),
    "blend(Tensor[] xs, float[] weights, Tensor? bias=None{}) -> {}": (_blend, ("out",)),
}


@pytest.fixture(scope="module", autouse=True)
def _operators() -> Iterator[None]:
    with torch.library._scoped_library("test_custom", "DEF") as library:
        for schema, (function, outs) in SCHEMAS.items():
            _define(library, schema, function, outs)
        yield


def _define(library: Library, schema: str, function: Any, outs: Sequence[str]) -> None:
    name, rest = schema.split("(", 1)
    written = [f"Tensor({letter}!)" for letter, _ in zip("yz", outs, strict=False)]
    library.define(schema.format("", _results(["Tensor"] * len(outs))))
    if outs:
        arguments = ", *, " + ", ".join(f"{kind} {out}" for kind, out in zip(written, outs, strict=True))
        library.define(f"{name}.out({rest}".format(arguments, _results(written)))
    library.impl(name, function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"test_custom::{name}", function, lib=library)


def _results(kinds: Sequence[str]) -> str:
    return kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"


class State(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.copy_(ops.affine(self.state, 0.5, 1) + x)
        return ops.blend([self.state, x], [1.0, 2.0], self.state)


class Written(nn.Module):
    """State that operators write to: nothing else reads it, its old value is read, its old value is returned."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.register_buffer("state", torch.ones(3))

    def forward(self, x: torch.Tensor) -> Any:
        old = self.state * 1 if self.what == "read" else self.state.clone() if self.what == "returned" else None
        ops.accumulate_(self.state, x)
        y = ops.step(self.state, x)
        return (self.state + y, y) if old is None else (old + y, self.state * 2) if self.what == "read" else (old, y)


class Parts(nn.Module):
    """Operators write parts of state (rows, columns, transposed, several at once) and of computed values."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.arange(12.0).reshape(4, 3))
        self.register_buffer("other", torch.ones(3))

    def forward(self, x: torch.Tensor) -> Any:
        before = self.state[0] * 1
        ops.accumulate_(self.state[1], x)
        ops.accumulate_(self.state[2:3], x)
        y = ops.step(self.state.t()[0, 1:], x)
        ops.accumulate_all_([self.other, self.state[3], self.state[0]], x)
        computed = x.repeat(2, 1).sin()
        ops.accumulate_all_([computed[1], computed[0]], y)
        ops.accumulate_(self.state.view(-1)[2:5], computed[1])
        return before, self.state * 1, self.other + 1, computed, y


def _on_results(x: torch.Tensor, y: torch.Tensor) -> Any:
    total = x * 2
    before = total.sin()
    ops.accumulate_(total, y)
    z = ops.step(total, x)
    return total, before, z


def _lists(x: torch.Tensor, y: torch.Tensor) -> Any:
    one, two = x * 2, y.sin()
    ops.accumulate_all_([one, two], x)
    ops.accumulate_all_([], x)
    return one, two, one + two


def _in_a_branch(x: torch.Tensor) -> torch.Tensor:
    def yes(x: torch.Tensor) -> torch.Tensor:
        total = x.clone()
        return ops.step(total, x) + total

    return torch.cond(x.sum() > 0, yes, lambda x: x - 1, (x,))


def _branches(x: torch.Tensor) -> torch.Tensor:
    positive, negative = ops.signs(x)
    return torch.cond(
        x.sum() > 0,
        lambda p, n: ops.affine(p, 2.0, 3) - n,
        lambda p, n: ops.blend([p, n], [1.0, -1.0]),
        (positive, negative),
    )


def _loop(x: torch.Tensor) -> Any:
    return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, ops.affine(a, 0.5, 1)), (torch.tensor(0), x))


A, B = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-0.5, 0.25, -4.0])
KINDS: dict[str, tuple[nn.Module, list[tuple[torch.Tensor, ...]]]] = {
    "optional numbers": (Function(lambda x: (ops.affine(x, 1.5), ops.affine(x, -1.0, 2))), [(A,)]),
    "several outputs": (Function(lambda x: ops.signs(x.sin())), [(A,), (B,)]),
    "one output read": (Function(lambda x: ops.signs(x)[1] + 1), [(A,), (B,)]),
    "lists and an optional tensor": (
        Function(lambda x, y: (ops.blend([x, y, x], [1.0, 2.0, 3.0]), ops.blend([x], [2.0], y))),
        [(A, B), (B, A)],
    ),
    "in branches": (Function(_branches), [(A,), (B,)]),
    "in a loop": (Function(_loop), [(A,)]),
    "in a map": (Function(lambda x: torch_map(lambda row: ops.affine(row, 2.0, 1), x)), [(torch.stack([A, B]),)]),
    "writing to state": (Written("nothing"), [(A,), (B,), (A,)]),
    "writing to state whose old value is read": (Written("read"), [(A,), (B,), (A,)]),
    "writing to state whose old value is returned": (Written("returned"), [(A,), (B,), (A,)]),
    "writing to results": (Function(_on_results), [(A, B), (B, A)]),
    "writing to parts and lists": (Parts(), [(A,), (B,), (A,)]),
    "writing to a list of results": (Function(_lists), [(A, B), (B, A)]),
    "writing in a branch": (Function(_in_a_branch), [(A,), (B,)]),
    "on state": (State(), [(A,), (B,), (A,)]),
}


def _lowered(model: nn.Module, inputs: tuple[torch.Tensor, ...], **options: Any) -> EdgeProgramManager:
    return to_edge(export(model, inputs, **options))


def _assert_runs_as_eager(edge: EdgeProgramManager, model: nn.Module, calls: list[tuple[torch.Tensor, ...]]) -> None:
    with loaded(edge.to_executorch(OWN).buffer) as program:
        for call in calls:
            expected = [leaf.clone() for leaf in pytree.tree_leaves(model(*call))]
            found = program.run("forward", *call)
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                torch.testing.assert_close(one, other)


@pytest.mark.parametrize("what", KINDS)
def test_operators_of_every_kind_run_as_in_eager(what: str) -> None:
    model, calls = KINDS[what]
    _assert_runs_as_eager(_lowered(model, calls[0]), model, calls)


def test_sizes_may_vary() -> None:
    model = Function(lambda x: ops.blend(list(ops.signs(x)), [2.0, 3.0]) + 1)
    edge = _lowered(model, (torch.randn(3, 2),), dynamic_shapes=(({0: Dim("n", min=1, max=6)},),))
    _assert_runs_as_eager(edge, model, [(torch.randn(n, 2),) for n in (3, 1, 6)])


@pytest.mark.parametrize("what", ["several outputs", "lists and an optional tensor", "in branches"])
def test_operators_run_inside_of_a_delegate(what: str) -> None:
    model, calls = KINDS[what]
    partitioner = ExecutorBackendPartitioner()
    partitioner.delegation_spec = DelegationSpec(ExecutorBackend.__name__, [CompileSpec("any_target", b"")])
    edge = _lowered(model, calls[0]).to_backend(partitioner)
    _assert_runs_as_eager(edge, model, calls)


def test_methods_share_operators() -> None:
    twice, signs = Function(lambda x: ops.affine(x, 2.0)), Function(lambda x: ops.affine(ops.signs(x)[0], 3.0))
    edge = to_edge({"twice": export(twice, (A,)), "signs": export(signs, (A,))})
    with loaded(edge.to_executorch(OWN).buffer) as program:
        torch.testing.assert_close(program.run("twice", A)[0], twice(A))
        torch.testing.assert_close(program.run("signs", B)[0], signs(B))


def test_a_kernel_that_the_target_lacks_is_named() -> None:
    edge = _lowered(KINDS["optional numbers"][0], (A,))
    with pytest.raises(ExportError, match=r"test_custom::affine\.out"):
        edge.to_executorch(ExecutorchBackendConfig(target_manifest=["aten::add.out"]))


def test_parts_that_overlap_are_refused_with_what_to_do() -> None:
    class Overlap(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            ops.accumulate_all_([self.state[1], self.state.view(-1)[4:7]], x)
            return self.state + 1

    with pytest.raises(ExportError, match=r"accumulate_all_.*'states_0', 'states_1'.*in common.*one at a time"):
        _lowered(Overlap(), (A,)).to_executorch(OWN)
