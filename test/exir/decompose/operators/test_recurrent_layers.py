# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recurrent layers stay one operator from module to program, or are unrolled if requested."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.models.pipeline import assert_matches_eager, run, to_program
from oracle.tolerances import LAYERS
from torch import nn
from torch.utils import _pytree as pytree

from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.decompose.operators.recurrent_layers import sequences_of_any_length
from executorch.exir.report.cost import cost_of
from executorch.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes", "ignore:LSTM with projections")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def operators(model: nn.Module, inputs: tuple[Any, ...], **options: Any) -> list[str]:
    """Return the operators that the edge program calls, except those that create initial states."""
    graph = to_edge(torch.export.export(model, inputs), **options).exported_program().graph
    return [str(node.target) for node in graph.nodes if node.op == "call_function" and "full" not in str(node.target)]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (nn.LSTM(4, 6, 2, batch_first=True), "lstm"),
        (nn.LSTM(4, 6, proj_size=3), "lstm"),
        (nn.GRU(4, 6, 2, bidirectional=True, bias=False), "gru"),
        (nn.RNN(4, 6), "rnn_tanh"),
        (nn.RNN(4, 6, nonlinearity="relu"), "rnn_relu"),
        (nn.LSTM(4, 6, 2, dropout=0.5).eval(), "lstm"),
    ],
    ids=str,
)
def test_a_stack_is_one_operator_and_matches_eager(model: nn.Module, name: str) -> None:
    inputs = (torch.randn(5, 3, 4),)
    assert f"recurrent.{name}.default" in operators(model.eval(), inputs)
    assert len([op for op in operators(model.eval(), inputs) if "getitem" not in op]) == 1
    assert_matches_eager(model.eval(), inputs)


def test_states_come_in_and_go_out() -> None:
    model = nn.LSTM(4, 6, 2)
    states = (torch.randn(2, 3, 6), torch.randn(2, 3, 6))
    assert_matches_eager(model, (torch.randn(5, 3, 4), states), (torch.randn(5, 3, 4), states))


def test_a_sequence_without_a_batch_matches_eager() -> None:
    assert_matches_eager(nn.GRU(4, 6), (torch.randn(5, 4),))


def test_batches_may_vary() -> None:
    batch = torch.export.Dim("batch", min=1, max=9)
    model = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True)
    more = [(torch.randn(size, 5, 4),) for size in (1, 9)]
    assert_matches_eager(model, (torch.randn(3, 5, 4),), *more, dynamic_shapes=({0: batch},))


@pytest.mark.parametrize("model", [nn.LSTM(4, 6, 2, batch_first=True), nn.GRU(4, 6, batch_first=True)], ids=str)
def test_the_length_of_sequences_may_vary(model: nn.Module) -> None:
    sizes = ({0: torch.export.Dim("batch", max=4), 1: torch.export.Dim("steps", max=64)},)
    with sequences_of_any_length():
        exported = torch.export.export(model, (torch.randn(3, 5, 4),), dynamic_shapes=sizes)
    program = to_edge(exported).to_executorch().buffer
    for shape in ((3, 5, 4), (1, 64, 4), (4, 1, 4)):
        x = torch.randn(shape)
        expected = pytree.tree_leaves(model(x))
        for found, wanted in zip(run(program, (x,)), expected, strict=True):
            torch.testing.assert_close(found, wanted, **LAYERS)


def test_a_calls_cost_is_that_of_its_weights_in_each_step() -> None:
    graph = to_edge(torch.export.export(nn.RNN(4, 6), (torch.randn(5, 3, 4),))).exported_program().graph
    (cost,) = [cost_of(node) for node in graph.nodes if "rnn_tanh" in str(node.target)]
    assert cost.flops == 2 * 5 * 3 * (6 * 4 + 6 * 6)


def test_steps_are_unrolled_by_option() -> None:
    model, inputs = nn.LSTM(4, 6), (torch.randn(5, 1, 4),)
    unrolled = EdgeCompileConfig(unroll_recurrent=True)
    targets = operators(model, inputs, compile_config=unrolled)
    assert len(targets) > 5
    assert not [op for op in targets if "recurrent" in op]
    assert_matches_eager(model, inputs, edge=unrolled)


def test_layers_with_dropout_in_training_mode_are_unrolled() -> None:
    model = nn.GRU(4, 6, 2, dropout=0.5).train()
    assert not [op for op in operators(model, (torch.randn(2, 1, 4),)) if "recurrent" in op]


def test_results_are_the_same_to_the_bit_on_any_number_of_threads() -> None:
    for model, batch in ((nn.LSTM(32, 256), 1), (nn.GRU(32, 192, bidirectional=True), 1), (nn.RNN(16, 256), 5)):
        inputs = (torch.randn(40, batch, model.input_size),)
        program = Runtime.get().load_program(to_program(model, inputs))
        alone, *others = (program.load_method("forward", threads=n).execute(list(inputs)) for n in (1, 2, 3))
        for other in others:
            assert all(torch.equal(one, two) for one, two in zip(alone, other, strict=True))


def test_eager_runs_edge_programs() -> None:
    model, x = nn.LSTM(4, 6, bidirectional=True), torch.randn(5, 3, 4)
    edge = to_edge(torch.export.export(model, (x,)))
    torch.testing.assert_close(edge.exported_program().module()(x)[0], model(x)[0])
    assert len(run(edge.to_executorch().buffer, (x,))) == 3
