# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Activations that decomposition took apart become one operator again, and formulas that only look alike do not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from oracle.tolerances import ONE_ROUNDING
from torch.export import export
from torch.nn import functional as F

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.runtime import Runtime

# activation → the only operator that is left
RECOMPOSED: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], list[str]]] = {
    "hardswish": (F.hardswish, ["hardswish.out"]),
    "hardsigmoid": (F.hardsigmoid, ["hardsigmoid.out"]),
    "silu": (F.silu, ["silu.out"]),
    "hardswish by hardsigmoid": (lambda x: x * F.hardsigmoid(x), ["hardswish.out"]),
    "hardswish by relu6": (lambda x: x * F.relu6(x + 3) / 6, ["hardswish.out"]),
    "both of one operand": (
        lambda x: F.hardswish(x) + F.hardsigmoid(x),
        ["hardswish.out", "hardsigmoid.out", "add.out"],
    ),
}
OTHERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "another divisor": lambda x: x * F.relu6(x + 3) / 5,
    "another shift": lambda x: x * F.relu6(x + 2) / 6,
    "a scaled shift": lambda x: F.relu6(torch.add(x, 3, alpha=2)) / 6,
    "another bound": lambda x: x * torch.clamp(x + 3, 0, 5) / 6,
    "a tighter bound inside": lambda x: torch.clamp(torch.clamp(x + 3, 1, 4), 0, 6) / 6,
    "another factor": lambda x: (x + 1) * torch.sigmoid(x),
    "a broadcast factor": lambda x: x[0] * F.relu6(x + 3) / 6,
}


def _lower(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, is_tuned: bool = True) -> Any:
    config = ExecutorchBackendConfig(tune_for_optimized_kernels=is_tuned)
    return to_edge(export(Function(function), (x,))).to_executorch(config)


def _operators(manager: Any) -> list[str]:
    nodes = manager.exported_program().graph.nodes
    return [node.target.__name__ for node in nodes if isinstance(node.target, torch._ops.OpOverload)]


def _assert_equal(manager: Any, function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    (output,) = Runtime.get().load_program(manager.buffer).load_method("forward").execute([x])
    torch.testing.assert_close(output, function(x), **ONE_ROUNDING, equal_nan=True)


INPUT = torch.cat([torch.linspace(-8, 8, 97), torch.tensor([float("inf"), -float("inf"), float("nan")])]).view(4, 25)


@pytest.mark.parametrize("what", RECOMPOSED)
def test_an_activation_is_one_operator(what: str) -> None:
    function, expected = RECOMPOSED[what]
    manager = _lower(function, INPUT)
    assert _operators(manager) == expected
    _assert_equal(manager, function, INPUT)


@pytest.mark.parametrize("what", OTHERS)
def test_other_formulas_stay(what: str) -> None:
    manager = _lower(OTHERS[what], INPUT)
    assert not {"hardswish.out", "hardsigmoid.out", "silu.out"} & set(_operators(manager))
    _assert_equal(manager, OTHERS[what], INPUT)


def test_activations_stay_decomposed_unless_the_option_is_set() -> None:
    assert "hardswish.out" not in _operators(_lower(F.hardswish, INPUT, is_tuned=False))


def test_a_recomposed_activation_saves_calls() -> None:
    assert_step_saves("recompose_activations", kind_of(lambda x: F.hardswish(x) + F.silu(x), (torch.randn(2, 3),)))
