# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Results that overwrite operands: only where every kernel gives the same results in place."""

from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel, registered_kernels, schema_of
from oracle.models.pipeline import assert_matches_eager
from torch import nn
from torch.export import Dim, export

from executorch.exir import to_edge
from executorch.exir.memory.lifetimes.in_place import WORKS_IN_PLACE
from executorch.exir.memory_planning import MemoryPlan

# Odd, so that vectorized loops have a rest, and long enough for several blocks.
_SIZES = (7, 301)
_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift")
_OF_BOOL = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not")


def _arguments(name: str) -> list[Any]:
    """One value for each argument of the operator: tensors of _SIZES, small numbers, a rounding mode."""
    base = name.removeprefix("aten::").partition(".")[0]
    dtype = torch.int32 if base in _INTEGERS else torch.bool if base in _OF_BOOL else torch.float32
    arguments: list[Any] = []
    for argument in schema_of(name).arguments:
        kind = str(argument.real_type)
        if argument.is_out:
            continue
        if "Tensor" in kind:
            values = torch.rand(_SIZES) * 4 + 0.25
            is_condition = base == "where" and not arguments
            arguments.append((values > 2) if is_condition or dtype is torch.bool else values.to(dtype))
        elif argument.name == "rounding_mode":
            arguments.append("floor")
        elif argument.has_default_value() and kind != "Optional[number]":
            arguments.append(argument.default_value)
        else:
            arguments.append(2)
    return arguments


_COUNT = _SIZES[0] * _SIZES[1]


@pytest.mark.parametrize("name", sorted(WORKS_IN_PLACE & registered_kernels()))
@pytest.mark.parametrize("sizes, strides", [(_SIZES, (_SIZES[1], 1)), ((_COUNT, 1), (1, _COUNT))])
def test_a_kernel_gives_the_same_over_each_of_its_operands(
    name: str, sizes: tuple[int, int], strides: tuple[int, int]
) -> None:
    torch.manual_seed(0)
    arguments = [
        argument.reshape(sizes) if isinstance(argument, torch.Tensor) else argument for argument in _arguments(name)
    ]
    out_tensor = torch.zeros(sizes, dtype=_result_dtype(name, arguments))
    expected = call_kernel(name, *arguments, out=out_tensor.clone())
    assert expected.error == 0, expected.message
    for position, operand in enumerate(arguments):
        if not isinstance(operand, torch.Tensor) or operand.dtype.itemsize != out_tensor.dtype.itemsize:
            continue
        copies = [argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
        out = copies[position].view(out_tensor.dtype)
        copies[position] = copies[position].as_strided(sizes, strides)
        found = call_kernel(name, *copies, out=out)
        assert found.error == 0, found.message
        torch.testing.assert_close(found.outputs[0], expected.outputs[0], rtol=0, atol=0, equal_nan=True)


def _result_dtype(name: str, arguments: list[Any]) -> torch.dtype:
    base = name.removeprefix("aten::").partition(".")[0]
    if base in _OF_BOOL:
        return torch.bool
    operands = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    return operands[1 if base == "where" else 0].dtype


def test_every_listed_operator_has_a_kernel() -> None:
    assert not WORKS_IN_PLACE - registered_kernels()


def plan_of(model: nn.Module, *inputs: torch.Tensor, dynamic_shapes: Any = None) -> MemoryPlan:
    exported = export(model.eval(), inputs, dynamic_shapes=dynamic_shapes)
    return to_edge(exported).to_executorch().memory_plans["forward"]


class Chain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        for _ in range(4):
            y = (y.sigmoid() * 2).relu()
        return y @ x


def test_a_chain_of_pointwise_operators_takes_one_place() -> None:
    plan = plan_of(Chain(), torch.randn(64, 64))
    assert sum(bool(tensor.in_place_of) for tensor in plan.tensors) == 12
    assert plan.size == plan.lower_bound == 3 * 64 * 64 * 4
    assert_matches_eager(Chain(), (torch.randn(64, 64),))


class Broadcasts(nn.Module):
    """The row of a tensor is added to all of it: its bytes are read again and again."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.exp().reshape(4, 8)
        z = y + y[0:1]
        return z @ z.T


def test_an_operand_that_is_also_broadcast_is_not_overwritten() -> None:
    model, x = Broadcasts(), torch.randn(32)
    plan = plan_of(model, x)
    (add,) = (tensor for tensor in plan.tensors if tensor.operator == "aten::add.out")
    assert not add.in_place_of
    assert_matches_eager(model, (x,))


class Kept(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x @ x
        return y.relu(), y.tanh() + y


def test_an_operand_with_later_readers_is_not_overwritten() -> None:
    x = torch.randn(8, 8)
    plan = plan_of(Kept(), x)
    (relu,) = (tensor for tensor in plan.tensors if tensor.operator == "aten::relu.out")
    assert not relu.in_place_of
    assert_matches_eager(Kept(), (x,))


class Places(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.nonzero() + 1  # strides (1, n), then (1, 1), for sizes (n, 1)


def test_the_place_of_a_dimension_of_one_in_the_dim_order_does_not_matter() -> None:
    plan = plan_of(Places(), torch.tensor([1.0, 0.0, 2.0]))
    assert [tensor.in_place_of for tensor in plan.tensors].count("aten_nonzero_default") == 1


def test_dynamic_sizes_are_compared_as_symbols() -> None:
    class Grows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.sum(1, keepdim=True) + x).exp() @ torch.ones(3, 2)

    plan = plan_of(Grows(), torch.randn(5, 3), dynamic_shapes=({0: Dim("n", min=2, max=9)},))
    (exp,) = (tensor for tensor in plan.tensors if tensor.operator == "aten::exp.out")
    assert exp.in_place_of
    assert_matches_eager(
        Grows(), (torch.randn(5, 3),), (torch.randn(9, 3),), dynamic_shapes=({0: Dim("n", min=2, max=9)},)
    )
