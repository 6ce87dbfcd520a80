# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Searches, extremes and softmax along lines that are computed in parts, and the edges of the vector formulas."""

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager
from oracle.kernels.kernel_entry import call_kernel

DTYPES = (torch.float32, torch.float64, torch.float16, torch.int32, torch.int64)


def _lines(length: int, dtype: torch.dtype) -> torch.Tensor:
    """Three lines with ties; of floating point also one with NaN and one with infinities."""
    torch.manual_seed(length)
    x = torch.randint(-9, 9, (5, length)).to(dtype)
    if dtype.is_floating_point:
        x[3, length // 2] = x[3, -1] = torch.nan
        x[4] = -torch.inf
        x[4, length // 3] = torch.inf
    return x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [1, 15, 64, 257, 1000])
@pytest.mark.parametrize("name", ["argmax", "argmin", "amax", "amin"])
def test_the_best_of_a_line_is_the_first_or_nan(name: str, length: int, dtype: torch.dtype) -> None:
    x = _lines(length, dtype)
    for line, dim in ((x, 1), (x.t().contiguous(), 0), (x.t().contiguous().t(), 1)):
        expected = getattr(torch, name)(line, dim)
        call = call_kernel(f"aten::{name}.out", line, [dim] if name[1] == "m" else dim, out=torch.empty_like(expected))
        assert call.error == 0, call.message
        torch.testing.assert_close(call.outputs[0], expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "name", ["acos", "asin", "acosh", "asinh", "atanh", "erfc", "erfinv", "softplus", "log", "log2"]
)
def test_formulas_of_float32_match_eager_at_their_edges(name: str) -> None:
    edges = torch.tensor([0.0, -0.0, 1.0, -1.0, 1.5, 1e-40, -30.0, 30.0, 3e38, torch.inf, -torch.inf, torch.nan])
    for x in (edges, torch.linspace(-1, 1, 4001), torch.linspace(-9, 9, 4001), torch.logspace(-30, 17, 999)):
        assert_kernel_matches_eager(f"aten::{name}.out", x)


def test_angles_of_every_quadrant_match_eager() -> None:
    edges = torch.tensor([0.0, -0.0, 1.0, -2.0, 1e-38, 3e38, torch.inf, -torch.inf, torch.nan])
    for values in (edges, torch.linspace(-3, 3, 101)):
        y, x = torch.meshgrid(values, values, indexing="ij")
        assert_kernel_matches_eager("aten::atan2.out", y.contiguous(), x.contiguous())


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "argmax"])
def test_lines_side_by_side_match_eager(name: str) -> None:
    x = torch.rand(7, 3, 300, dtype=torch.float32) + 0.5
    for dim in (0, 1):
        assert_kernel_matches_eager(f"aten::{name}.out", x, dim)
