# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments and results at the ends of their ranges match eager."""

from __future__ import annotations

import pytest
import torch
from oracle.kernel_entry import call_kernel

ENDS = (-(2**63), -(2**32), -4, 4, 2**32, 2**63 - 1)


def _result(kernel: str, *args: object, out: torch.Tensor) -> torch.Tensor:
    call = call_kernel(kernel, *args, out=out)
    assert call.error == 0, call.message
    return call.outputs[0]


@pytest.mark.parametrize("kernel", ["exp", "exp2"])
def test_subnormal_powers_are_not_zero(kernel: str) -> None:
    # Few beside many: what vectors compute, and what they leave to the library.
    x = torch.linspace(-160, 2, 2000)
    expected = getattr(torch, kernel)(x.double()).float()
    assert ((expected > 0) & (expected < torch.finfo(torch.float32).tiny)).any()
    torch.testing.assert_close(
        _result(f"aten::{kernel}.out", x, out=torch.empty(2000)), expected, rtol=1e-6, atol=2e-45
    )


@pytest.mark.parametrize("bounds", [(1e-3, 8), (4, 1e4), (1e20, 1e38), (-9, -1e-3), (-9000, -8000), (-3e-6, 3e-6)])
def test_gamma_has_its_logarithm_on_both_sides_of_zero(bounds: tuple[float, float]) -> None:
    x = torch.linspace(*bounds, 4096)
    expected = torch.lgamma(x.double()).float()
    found = _result("aten::lgamma.out", x, out=torch.empty_like(x))
    torch.testing.assert_close(found, expected, rtol=6e-7, atol=2e-6)


@pytest.mark.parametrize("diagonal", ENDS)
@pytest.mark.parametrize("lower", [True, False])
def test_triangles_of_diagonals_far_outside_are_all_or_nothing(lower: bool, diagonal: int) -> None:
    x = torch.randn(2, 3, 4)
    kept = (diagonal > 0) == lower
    found = _result("aten::tril.out" if lower else "aten::triu.out", x, diagonal, out=torch.empty_like(x))
    assert torch.equal(found, x if kept else torch.zeros_like(x))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float64])
@pytest.mark.parametrize("bounds", [(0.9, 3.1, 1.5), (0, 3.1, 1), (2.5, 0.1, -1.0), (3, 3, 1)])
def test_ranges_count_in_the_outputs_dtype(bounds: tuple[float, float, float], dtype: torch.dtype) -> None:
    expected = torch.arange(*bounds, out=torch.empty(0, dtype=dtype))
    found = _result("aten::arange.start_out", *bounds, out=torch.empty(8, dtype=dtype))
    assert torch.equal(found, expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_polygamma_far_below_zero_takes_no_steps_to_it(n: int) -> None:
    near = torch.tensor([-16.5, -17.25, -40.125, -99.75], dtype=torch.float64)
    found = _result("aten::polygamma.out", n, near, out=torch.empty_like(near))
    torch.testing.assert_close(found, torch.polygamma(n, near), rtol=1e-8, atol=0)
    # From there on only the fraction counts, by some 1 / |x|.
    far = near - 2.0**45
    found = _result("aten::polygamma.out", n, far, out=torch.empty_like(far))
    torch.testing.assert_close(found, torch.polygamma(n, near - 10**6), rtol=1e-5, atol=1e-6)


def test_rows_of_nothing_are_embedded() -> None:
    weight, indices = torch.empty(5, 0), torch.tensor([[0, 4], [1, 1]])
    assert _result("aten::embedding.out", weight, indices, out=torch.empty(2, 2, 0)).shape == (2, 2, 0)
