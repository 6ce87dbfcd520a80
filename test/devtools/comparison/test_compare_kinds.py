# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planted errors in branches, loops, state, operators with several results, and integers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from executorch.devtools import compare
from executorch.exir import to_edge
from executorch.exir.schema import Buffer, EValue, Int
from executorch.exir.serialize import deserialize_pte, serialize_pte

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed

X = torch.linspace(-1, 1, 12).reshape(3, 4)
quantize = torch.ops.quantized_decomposed.quantize_per_tensor
dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor


class Branch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > -9, lambda x: torch.erf(x).sin(), lambda x: x.cos(), (x,)).exp()


class LayerInBranch(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(X.shape[-1], 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > -9, lambda x: self.layer(x).sin(), lambda x: x[..., :4].cos(), (x,)).exp()


class Loop(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def body(i: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return i + 1, torch.sigmoid(torch.erf(x) * 1.5)

        return torch._higher_order_ops.while_loop(lambda i, x: i < 3, body, (torch.tensor(0), x))[1].sin()


class Counter(torch.nn.Module):
    """Has state that it changes, and works in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.arange(4.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sum.add_(torch.sin(x).sum(0))
        y = x * 3
        y.relu_()
        return torch.erf(y + self.sum)


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(4, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.layer(torch.sin(x[None]))[0])


class Integers(torch.nn.Module):
    """A product that becomes one operator on int8."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dequantized = [
            dequantize(quantize(sample, 0.02, 3, -128, 127, torch.int8), 0.02, 3, -128, 127, torch.int8)
            for sample in (x, x + 0.5)
        ]
        product = quantize(dequantized[0] * dequantized[1], 0.03, -2, -128, 127, torch.int8)
        return dequantize(product, 0.03, -2, -128, 127, torch.int8)


def with_kernel(right: str, wrong: str) -> Callable[[Any, torch.nn.Module], None]:
    def edit(program: Any, model: torch.nn.Module) -> None:
        (plan,) = program.execution_plan
        position = next(i for i, operator in enumerate(plan.operators) if operator.name == f"aten::{right}")
        plan.operators[position] = replace(plan.operators[position], name=f"aten::{wrong}")

    return edit


def with_weight(program: Any, model: torch.nn.Module) -> None:
    weight = model.get_parameter("layer.weight_hh_l0").detach()
    place = [bytes(buffer.storage) for buffer in program.constant_buffer].index(weight.numpy().tobytes())
    program.constant_buffer[place] = Buffer((weight + 0.3).numpy().tobytes())


def with_zero_point(program: Any, model: torch.nn.Module) -> None:
    (plan,) = program.execution_plan
    position = [operator.name for operator in plan.operators].index("quantized_fused::mul")
    (call,) = [
        instruction.instr_args
        for instruction in plan.chains[0].instructions
        if instruction.instr_args.op_index == position
    ]
    number = next(i for i, index in enumerate(call.args) if plan.values[index].val == Int(-2))
    plan.values.append(EValue(Int(20)))
    call.args[number] = len(plan.values) - 1


@pytest.mark.parametrize(
    ("model", "edit", "operator"),
    [
        (Branch, with_kernel("erf", "tanh"), "aten.erf.default"),
        (Loop, with_kernel("sigmoid", "tanh"), "aten.sigmoid.default"),
        (Counter, with_kernel("relu", "abs"), "aten.relu.default"),
        (Recurrent, with_weight, "recurrent.lstm.default"),
        (Integers, with_zero_point, "aten.mul.Tensor"),
    ],
)
def test_the_wrong_operator_is_named(
    model: type[torch.nn.Module], edit: Callable[[Any, torch.nn.Module], None], operator: str
) -> None:
    torch.manual_seed(0)
    module = model().eval()
    exported = torch.export.export(module, (X,))
    program = to_edge(exported).to_executorch().buffer
    for _ in range(2 if model is Counter else 1):  # a comparison leaves no state behind
        assert compare(exported, program, (X,)).first is None
    file = deserialize_pte(program)
    edit(file.program, module)
    report = compare(exported, bytes(serialize_pte(file)), (X,))
    assert report.first is not None and report.first.operator == operator
    if model is not Loop:  # the others are right for their operands; in a loop these depend on their own results
        assert sum(operator.differs for operator in report.operators) == 1


def test_a_module_in_a_branch_is_named() -> None:
    module = LayerInBranch().eval()
    exported = torch.export.export(module, (X,))
    file = deserialize_pte(to_edge(exported).to_executorch().buffer)
    bias = module.layer.bias.detach()
    place = [bytes(buffer.storage) for buffer in file.program.constant_buffer].index(bias.numpy().tobytes())
    file.program.constant_buffer[place] = Buffer((bias + 0.3).numpy().tobytes())
    comparison = compare(exported, bytes(serialize_pte(file)), (X,)).first
    assert comparison is not None and (comparison.operator, comparison.module) == ("aten.addmm.default", "layer")
    assert "test_compare_kinds.py:" in comparison.source
