# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Elementwise operators on operands in the order of computation (the fast path), and on operands that just miss it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses

# Longer than a block of repeated numbers, and shorter.
SHAPES = [(2, 3, 300), (3, 4), (1, 1, 5), (0, 4), (1,), ()]
DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.float16]


def values(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()).reshape(shape) % 13 - 4).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_repeated_operands_match_eager(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = values(shape, dtype)
    trailing = [shape[d:] for d in range(len(shape) + 1)]
    leading = [shape[:d] + (1,) * (len(shape) - d) for d in range(len(shape))]
    for repeated in [*trailing, *leading, (1, 1, 1, 1)]:
        y = values(repeated, dtype) + 1
        assert_kernel_matches_eager("aten::maximum.out", x, y)
        assert_kernel_matches_eager("aten::maximum.out", y, x)
        assert_kernel_matches_eager("aten::lt.Tensor_out", x, y)
        assert_kernel_matches_eager("aten::where.self_out", x > 0, x, y)
        assert_kernel_matches_eager("aten::where.self_out", y > 0, x, x + 1)
        assert_kernel_matches_eager("aten::where.self_out", y > 0, y, x)


def test_inputs_repeated_at_different_lengths_match_eager() -> None:
    x, row, plane = torch.randn(2, 3, 4), torch.randn(4), torch.randn(3, 4)
    for inputs in [(x, row, plane), (row, plane, x), (plane, x, row), (row, plane, row)]:
        assert_kernel_matches_eager("aten::addcmul.out", *inputs, value=3)


@pytest.mark.parametrize("number", [True, -3, 2.5, 1e300, float("nan"), 2**62], ids=str)
@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool], ids=str)
def test_scalars_promote_as_in_eager(dtype: torch.dtype, number: Any) -> None:
    for shape in [(2, 300), (3,), ()]:
        x = values(shape, dtype)
        for name in ("aten::mul.Scalar_out", "aten::eq.Scalar_out", "aten::add.Scalar_out"):
            assert_kernel_matches_eager(name, x, number)


def test_channels_last_is_not_taken_for_rows() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for y in [x.flip(0).contiguous(), torch.randn(5), torch.randn(4, 5), torch.randn(3, 1, 1), torch.randn(1)]:
        for memory_format in (torch.contiguous_format, torch.channels_last):
            assert_kernel_matches_eager("aten::maximum.out", x, y, memory_format=memory_format)


def test_an_integer_is_not_divided_by_zero_on_the_fast_path_either() -> None:
    x = torch.arange(6).reshape(2, 3)
    for zero in (x, x[0].clone(), torch.tensor(0)):
        message = assert_kernel_refuses("aten::remainder.Tensor_out", x, zero, out=torch.empty_like(x))
        assert "division by zero" in message
