# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The vectorized elementary functions: every dtype, odd lengths, the ends of float32."""

from __future__ import annotations

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
NAMES = ["exp", "sigmoid", "tanh", "erf", "gelu"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_functions_match_eager_at_every_length(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for n in (0, 1, 3, 7, 8, 15, 16, 17, 33, 1000):
        assert_kernel_matches_eager(f"aten::{name}.out", (torch.randn(n) * 4).to(dtype))
    assert_kernel_matches_eager(f"aten::{name}.out", torch.randn(3, 4, 5).to(dtype).permute(2, 0, 1))


@pytest.mark.parametrize("name", NAMES)
def test_functions_match_eager_at_the_ends_of_float32(name: str) -> None:
    inf, nan = float("inf"), float("nan")
    ends = [0.0, -0.0, 1e-30, -1e-30, 1e-6, 88.0, 88.9, -87.0, -90.0, -103.0, -110.0, 1e4, -1e4, nan]
    assert_kernel_matches_eager(f"aten::{name}.out", torch.tensor(ends))
    if name != "gelu":  # at infinity eager's gelu is NaN on processors with AVX-512 (0 * infinity), infinity on others
        assert_kernel_matches_eager(f"aten::{name}.out", torch.tensor([-inf, inf] * 9))


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "erf"])
def test_integers_become_float(name: str) -> None:
    for dtype in (torch.int32, torch.uint8, torch.bool):
        assert_kernel_matches_eager(f"aten::{name}.out", torch.tensor([0, 1, 1, 0, 1]).to(dtype))


def test_gelu_with_tanh_matches_eager() -> None:
    assert_kernel_matches_eager("aten::gelu.out", torch.randn(777) * 4, approximate="tanh")
