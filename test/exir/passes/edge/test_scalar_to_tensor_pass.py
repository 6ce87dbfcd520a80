# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Scalars that the dtype of the other operand cannot represent are converted as in eager."""

import pytest
import torch
from models.function_module import Function
from oracle.models.pipeline import assert_matches_eager
from torch.export import export

from executorch.exir import to_edge


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8], ids=str)
def test_an_integer_wraps_around_and_divides_as_it_is(dtype: torch.dtype) -> None:
    computed = Function(lambda x: (x + 200, x - 200, x * 300, 300 - x, x > 200, x == 257, x % 300, x // 300, x / 300))
    assert_matches_eager(computed, (torch.tensor([1, 2, 100], dtype=dtype),))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_scalar_outside_of_the_range_of_16_bits_neither_overflows_nor_vanishes(dtype: torch.dtype) -> None:
    large, small = 2.0**20, 2.0**-27
    computed = Function(
        lambda x: (x * large, x / large, x * small, x / small, small / x, large - x, (x + large).relu(), x // 0.1)
    )
    assert_matches_eager(computed, (torch.tensor([1e-3, 100.0, -2.5, 0.0], dtype=dtype),))


def test_a_scalar_that_the_dtype_represents_costs_no_conversion() -> None:
    exported = torch.export.export(Function(lambda x: x * 0.1 + 3), (torch.ones(2, dtype=torch.float16),))
    assert "to_dim_order_copy" not in to_edge(exported).exported_program().graph_module.code


def test_equal_numbers_become_one_constant_of_the_dtype_computed_in():
    class Numbers(torch.nn.Module):
        def forward(self, x, i):
            return x + 2, x * 2, i + 2, i * 2.5, i * True

    inputs = (torch.randn(3), torch.arange(3))
    program = to_edge(export(Numbers(), inputs)).exported_program()
    constants = sorted((str(tensor.dtype), tensor.item()) for tensor in program.constants.values())
    assert constants == [("torch.float32", 2.0), ("torch.float32", 2.5), ("torch.int64", 1), ("torch.int64", 2)]
    torch.testing.assert_close(program.module()(*inputs), Numbers()(*inputs))
