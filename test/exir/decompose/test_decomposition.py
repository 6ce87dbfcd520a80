# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decomposing call by call, in place, gives what a trace of the whole program gives."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from models import make
from models.function_module import Function
from torch.export import Dim, ExportedProgram, export

from executorch.exir import to_edge
from executorch.exir.decompose import decomposition
from executorch.exir.decompose.decomposition import decompose, decomposition_table
from executorch.exir.decompose.graph_decomposition import decompose_graph
from executorch.exir.error import ExportError
from executorch.exir.rewrite.program_copy import copy_program
from executorch.runtime import Runtime

aten = torch.ops.aten


def _traced(program: ExportedProgram, kept: list[Any], unroll: bool = False) -> ExportedProgram:
    return program.run_decompositions(decomposition._table_to_trace_with(kept, unroll))


def _operators(program: ExportedProgram) -> Counter[str]:
    ignored = ("aten.detach.default", "aten.alias.default", "<built-in function getitem>", "aten.clone.default")
    program.graph.eliminate_dead_code()
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    return Counter(name for name in targets if name not in ignored and "assert" not in name)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "unroll"), [("resnet18", False), ("lstm", False), ("lstm", True)])
@pytest.mark.filterwarnings("ignore:The tensor attributes", "ignore:.*LeafSpec:FutureWarning")
def test_models_get_the_operators_that_a_trace_gives(name: str, unroll: bool) -> None:
    program = export(*make(name))
    decomposed = copy_program(program)
    assert decompose_graph(decomposed, decomposition_table(unroll_recurrent=unroll), [])
    assert _operators(decomposed) == _operators(_traced(program, [], unroll))


IN_PLACE: dict[str, Callable[[torch.Tensor], Any]] = {
    "on what was computed": lambda x: (x + 1).relu_().add_(2).mul_(x),
    "on a value read before": lambda x: (lambda y: (y * 2, y.relu_()))(x + 1)[1],
    "on a view nobody else reads": lambda x: (x * 2).view(-1).relu_() + 1,
    "with itself": lambda x: (lambda y: y.mul_(y))(x + 1),
    "with a decomposition": lambda x: torch.nn.functional.hardswish(x + 1, inplace=True),
    "read under its old name": lambda x: (lambda y: (y.relu_(), y + 1))(x - 1),
    "with a functional overload of another name": lambda x: (x.abs() + 1).pow_(-0.5).floor_divide_(x),
    "a power of tensors": lambda x: (x.abs() + 1).pow_(x),
    "on a part": lambda x: (lambda y: (y[0].zero_(), y + 1))(x * 2),
    "on a part read later": lambda x: (lambda y: (lambda part: (part.add_(3), part * 2, y))(y[1]))(x * 2),
    "on a part of a part": lambda x: (lambda y: (y[1, 0:2].copy_(y[0, 1:]), y[1] * 2, y.sum()))(x * 2),
    "on a part twice": lambda x: (lambda y: (lambda part: (part.add_(3), part.mul_(2), y, part))(y[1]))(x * 2),
    "on a part, the whole and the part": lambda x: (lambda y: (y[0].add_(1), y.mul_(3), y[0].sub_(2), y)[-1])(x * 2),
    "on columns with a step": lambda x: (lambda y: (y[:, ::2].mul_(-1), y[:, -1].add_(1), y)[-1])(x * 2),
    "on parts in turn": lambda x: _sums_of_rows(x * 2),
    "on a result of topk": lambda x: (lambda best: (best[0].div_(best[0].sum(-1, True)), best[1]))(x.topk(2)),
}


def _sums_of_rows(y: torch.Tensor) -> torch.Tensor:
    for row in range(1, len(y)):
        for column in range(1, y.shape[1]):
            y[row, :column] = y[row - 1, :column].clone() + y[row, 1 : column + 1].clone()
    return y


@pytest.mark.parametrize("what", IN_PLACE)
def test_in_place_calls_become_functional(what: str) -> None:
    x = torch.randn(2, 3)
    program = export(Function(IN_PLACE[what]), (x,))
    decomposed = copy_program(program)
    assert decompose_graph(decomposed, decomposition_table(), [])
    targets = [node.target for node in decomposed.graph.nodes if node.op == "call_function"]
    assert not any(getattr(target, "_schema", None) is not None and target._schema.is_mutable for target in targets)
    torch.testing.assert_close(decomposed.module()(x), Function(IN_PLACE[what])(x))


@pytest.mark.parametrize("compare", [torch.Tensor.gt_, torch.Tensor.logical_and_], ids=["gt", "logical and"])
def test_a_comparison_in_place_keeps_the_dtype(compare: Callable[..., torch.Tensor]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return compare(x + 1, x.flip(0)) * 2

    x = torch.randn(2, 3)
    program = to_edge(export(Function(function), (x,))).to_executorch()
    (output,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(output, function(x))


class Counts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


WRITTEN: dict[str, tuple[torch.nn.Module, tuple[torch.Tensor, ...]]] = {
    "an input": (Function(lambda x: x.add_(1).mul_(2) * 2), (torch.randn(3),)),
    "an input that is returned": (
        Function(lambda x, y: (y + x.mul_(y), x, y.copy_(x[0]))),
        (torch.ones(2, 3), torch.rand(3)),
    ),
    "a buffer": (Counts(), (torch.randn(3),)),
    "a row of an input": (
        Function(lambda x, y: (x[0].copy_(y), x[1].mul_(2), x * 2)[1:]),
        (torch.ones(2, 3), torch.rand(3)),
    ),
    "a part of an input, twice": (
        Function(lambda x: (lambda part: (part.mul_(2), part[1:].add_(3), part.abs_(), x * 2))(x[0])[-1]),
        (torch.randn(2, 3),),
    ),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_state_written_in_place_is_returned_as_a_trace_returns_it(what: str) -> None:
    model, inputs = WRITTEN[what]
    program = export(deepcopy(model), inputs)
    decomposed = copy_program(program)
    assert decompose_graph(decomposed, decomposition_table(), [])
    traced = _traced(program, [])
    assert [(spec.kind, spec.target) for spec in decomposed.graph_signature.output_specs] == [
        (spec.kind, spec.target) for spec in traced.graph_signature.output_specs
    ]
    runs = decomposed.module(), deepcopy(model)
    for _ in range(3):
        found, expected = ((run(*given), given) for run in runs for given in [[value.clone() for value in inputs]])
        torch.testing.assert_close(found, expected)


F = torch.nn.functional
ON_SIZES_THAT_VARY: dict[str, Callable[[torch.Tensor], Any]] = {
    "softmax": lambda x: F.gelu(x.softmax(-1) @ x.t()),
    "views": lambda x: F.linear(x, torch.ones(4, 3)).view(x.shape[0], 2, 2).transpose(1, 2).reshape(-1, 4),
    "arithmetic on sizes": lambda x: F.layer_norm(x, (3,)) + x.shape[0] * 2,
    "sums of several sizes": lambda x: x * torch.sym_sum((x.shape[0], x.shape[0] * x.shape[1], 1)),
    "square roots of sizes": lambda x: x * torch.sym_sqrt(x.shape[0]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "resampling": lambda x: F.interpolate(x[None, None], scale_factor=2.0),
    "statistics": lambda x: (x.var(0), x.std(1), x.norm(dim=1)),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "sizes known at run time": lambda x: x[x > 0].sum() + (x > 0).nonzero().sum(),
    "branches": lambda x: torch.cond(x.shape[0] > 4, lambda x: F.gelu(x), lambda x: F.softmax(x, 0), (x,)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", ON_SIZES_THAT_VARY)
def test_sizes_may_vary(what: str) -> None:
    model = Function(ON_SIZES_THAT_VARY[what])
    program = export(model, (torch.randn(5, 3),), dynamic_shapes=(({0: Dim("n", min=2, max=9)},),))
    ranges = str(program.range_constraints)
    decomposed = copy_program(program)
    assert decompose_graph(decomposed, decomposition_table(), [])
    assert str(decomposed.range_constraints) == str(program.range_constraints) == ranges
    for rows in (5, 2, 9):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(decomposed.module()(x), model(x))


LEFT_TO_THE_TRACE: dict[str, tuple[torch.nn.Module, tuple[torch.Tensor, ...]]] = {
    "a view read after its base was written": (
        Function(lambda x: (lambda y, v: (y.add_(1), v * 2))(*(lambda y: (y, y[0]))(x * 2))),
        (torch.randn(2, 3),),
    ),
    "a base read after its transposed view was written": (
        Function(lambda x: (lambda y: (y.t()[0].zero_(), y + 1))(x * 2)),
        (torch.randn(2, 3),),
    ),
    "a part read after an overlapping part was written": (
        Function(lambda x: (lambda y, part: (y[0].zero_(), part * 2))(*(lambda y: (y, y[:, 1:]))(x * 2))),
        (torch.randn(2, 3),),
    ),
    "a view of an input read after it was written": (
        Function(lambda x: (lambda v: (x.add_(1), v * 2))(x[0])),
        (torch.randn(2, 3),),
    ),
    "a transposed view of an input": (
        Function(lambda x: x.t()[0].mul_(2)),
        (torch.randn(2, 3),),
    ),
    "a part that split gives of an input": (
        Function(lambda x: x.split(1)[1].mul_(2)),
        (torch.randn(2, 3),),
    ),
}


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
@pytest.mark.parametrize("what", LEFT_TO_THE_TRACE)
def test_a_call_that_a_rewrite_does_not_cover_is_traced(what: str) -> None:
    model, inputs = LEFT_TO_THE_TRACE[what]
    program = export(model, inputs)
    assert not decompose_graph(copy_program(program), decomposition_table(), [])
    copies = [tuple(value.clone() for value in inputs) for _ in range(2)]
    expected = deepcopy(model)(*copies[1])
    torch.testing.assert_close(decompose(program).module()(*copies[0]), expected)
    torch.testing.assert_close(*copies)


def test_equal_calls_keep_their_results_apart() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        h, c = torch.zeros_like(x), torch.zeros_like(x)
        return torch.addcmul(x, h + 1, c + 2) - torch.addcmul(h, c, x)

    program = export(Function(forward), (torch.randn(3),))
    x = torch.randn(3)
    torch.testing.assert_close(decompose(program).module()(x), forward(x))


def test_kept_operators_stay_whole_wherever_they_are_called() -> None:
    linear = aten.linear.default
    program = export(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Softmax(-1)), (torch.randn(2, 3),))
    assert [node.target for node in decompose(program, [linear]).graph.nodes if node.target is linear]
    lstm = export(torch.nn.LSTM(3, 4), (torch.randn(2, 1, 3),))
    assert [
        node.target for node in decompose(lstm, [linear], unroll_recurrent=True).graph.nodes if node.target is linear
    ]


def test_nodes_of_a_decomposed_call_keep_its_line_and_module() -> None:
    program = export(torch.nn.Sequential(torch.nn.Linear(3, 4)), (torch.randn(2, 3),))
    (linear,) = [node for node in program.graph.nodes if node.op == "call_function"]
    decomposed = decompose(program)
    calls = [node for node in decomposed.graph.nodes if node.op == "call_function"]
    assert len(calls) == 2
    for node in calls:
        assert node.meta["nn_module_stack"] == linear.meta["nn_module_stack"]
        assert node.meta["stack_trace"] == linear.meta["stack_trace"]
        assert node.meta["from_node"][-1].name == linear.name


def test_an_operator_that_returns_its_argument_is_named() -> None:
    library = torch.library.Library("test_decomposition", "FRAGMENT")
    library.define("accumulate(Tensor x, Tensor(a!) out) -> Tensor(a!)")
    library.impl("accumulate", lambda x, out: out.add_(x), "CompositeExplicitAutograd")
    accumulate = torch.ops.test_decomposition.accumulate
    program = export(Function(lambda x: accumulate(x, torch.zeros(3)) * 2), (torch.ones(3),), strict=False)
    with pytest.raises(ExportError, match=r"accumulate.*result is an argument"):
        to_edge(program)
