# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes that remove rearrangements and quantization: the same results to the bit, with fewer calls."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from oracle.models.pipeline import run, to_program
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers the quantizing operators)
from torch.export import export

from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.passes import (
    CancelRearrangementsPass,
    DeadCodeEliminationPass,
    FoldQuantizationPass,
    RemoveNoopPass,
)

quantized = torch.ops.quantized_decomposed
PASSES = [CancelRearrangementsPass(), FoldQuantizationPass(), RemoveNoopPass(), DeadCodeEliminationPass()]


def _requantized(x: torch.Tensor, other_scale: float = 0.1, least: int = -128) -> torch.Tensor:
    one = quantized.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
    middle = quantized.dequantize_per_tensor(one, 0.1, 3, least, 127, torch.int8)
    two = quantized.quantize_per_tensor(middle, other_scale, 3, least, 127, torch.int8)
    return quantized.dequantize_per_tensor(two, other_scale, 3, -128, 127, torch.int8)


# function → how many calls of how many are left
CASES: dict[str, tuple[Callable[..., Any], int, int]] = {
    "a permute and its inverse": (lambda x: x.sin().permute(2, 0, 1).permute(1, 2, 0).cos(), 4, 2),
    "a concatenation with nothing and others": (lambda x: torch.cat([x.sin(), x[:, 3:], x.cos()], 1) + 1, 4, 4),
    "a concatenation with nothing": (lambda x: torch.cat([x.sin(), x[:, 3:]], 1).cos(), 2, 2),
    "two permutes": (lambda x: x.sin().permute(2, 0, 1).permute(2, 1, 0).cos(), 4, 3),
    "three permutes": (lambda x: x.sin().transpose(0, 1).transpose(1, 2).transpose(-1, 0).cos(), 5, 3),
    "a permute that is read": (lambda x: (lambda y: (y.sin(), y.permute(1, 2, 0).cos()))(x.permute(2, 0, 1)), 4, 3),
    "views": (lambda x: x.sin().view(6, 4).view(-1).view(2, 3, 4).cos(), 5, 2),
    "to another order and back": (
        lambda x: x.unsqueeze(0).sin().to(memory_format=torch.channels_last).contiguous().cos(),
        5,
        3,
    ),
    "a lossy conversion": (lambda x: x.sin().to(torch.int32).to(torch.float32).cos(), 4, 4),
    "a requantization with equal parameters": (_requantized, 4, 2),
    "a requantization with another scale": (lambda x: _requantized(x, 0.2), 4, 4),
    "a requantization that clamps": (lambda x: _requantized(x, 0.1, -100), 4, 4),
}


def _count(manager: Any) -> int:
    return sum(node.op == "call_function" for node in manager.exported_program().graph.nodes)


@pytest.mark.parametrize("what", CASES)
def test_calls_go_and_results_stay(what: str) -> None:
    function, before, after = CASES[what]
    x = torch.randn(2, 3, 4)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge(export(Function(function), (x,)), compile_config=config)
    changed = edge.transform(PASSES)
    assert (_count(edge), _count(changed)) == (before, after)
    expected = edge.exported_program().module()(x)
    torch.testing.assert_close(changed.exported_program().module()(x), expected, atol=0, rtol=0)
    again = changed.transform(PASSES).exported_program()
    assert again.graph_module.code == changed.exported_program().graph_module.code


def test_transposes_around_a_layer_cost_nothing_in_the_program() -> None:
    model = Function(lambda x: x.relu().transpose(1, 2).transpose(1, 2).tanh())
    x = torch.randn(1, 3, 5)
    program = to_program(model, (x,))
    assert b"permute_copy" not in program
    torch.testing.assert_close(torch.as_tensor(run(program, (x,))[0]), model(x))


def test_rearrangements_that_cancel_save_calls() -> None:
    def rearrange(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).permute(1, 0).reshape(-1).view(2, 3).sin() + x

    assert_step_saves("CancelRearrangementsPass", kind_of(rearrange, (torch.randn(2, 3),)))
