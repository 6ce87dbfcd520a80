# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments and results at the ends of their ranges match eager."""

from __future__ import annotations

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import FEW_ROUNDINGS, LAST_BIT, LOG_GAMMA, POLYGAMMA, SUBNORMAL_RESULTS

ENDS = (-(2**63), -(2**32), -4, 4, 2**32, 2**63 - 1)


def _result(kernel: str, *args: object, out: torch.Tensor) -> torch.Tensor:
    call = call_kernel(kernel, *args, out=out)
    assert call.error == 0, call.message
    return call.outputs[0]


@pytest.mark.parametrize("kernel", ["exp", "exp2"])
def test_subnormal_powers_are_not_zero(kernel: str) -> None:
    # Most numbers are computed by vector code; the few with subnormal results are left to the library.
    x = torch.linspace(-160, 2, 2000)
    expected = getattr(torch, kernel)(x.double()).float()
    assert ((expected > 0) & (expected < torch.finfo(torch.float32).tiny)).any()
    torch.testing.assert_close(_result(f"aten::{kernel}.out", x, out=torch.empty(2000)), expected, **SUBNORMAL_RESULTS)


@pytest.mark.parametrize("bounds", [(1e-3, 8), (4, 1e4), (1e20, 1e38), (-9, -1e-3), (-9000, -8000), (-3e-6, 3e-6)])
def test_gamma_has_its_logarithm_on_both_sides_of_zero(bounds: tuple[float, float]) -> None:
    x = torch.linspace(*bounds, 4096)
    expected = torch.lgamma(x.double()).float()
    found = _result("aten::lgamma.out", x, out=torch.empty_like(x))
    torch.testing.assert_close(found, expected, **LOG_GAMMA)


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1, 2.5, 1e30])
def test_powers_of_every_number_are_rounded_once(size: float) -> None:
    special = torch.tensor([0.0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, 1e9, 16777217, 3e38, -3e38, 1e-38])
    x = torch.cat([torch.randn(2000) * size, special * size, special])
    for exponents in (torch.randn_like(x), (torch.randn_like(x) * 3).round(), special[torch.arange(len(x)) % 14]):
        found = _result("aten::pow.Tensor_Tensor_out", x, exponents, out=torch.empty_like(x))
        expected = torch.pow(x.double(), exponents.double()).float()
        torch.testing.assert_close(found, expected, **LAST_BIT, equal_nan=True)
        known = ~expected.isnan()
        assert torch.equal(found[known].signbit(), expected[known].signbit())
    found = _result("aten::pow.Tensor_Tensor_out", x, torch.ones_like(x), out=torch.empty_like(x))
    assert torch.equal(found, x)


@pytest.mark.parametrize("diagonal", ENDS)
@pytest.mark.parametrize("lower", [True, False])
def test_triangles_of_diagonals_far_outside_are_full_or_empty(lower: bool, diagonal: int) -> None:
    x = torch.randn(2, 3, 4)
    kept = (diagonal > 0) == lower
    output = _result("aten::tril.out" if lower else "aten::triu.out", x, diagonal, out=torch.empty_like(x))
    assert torch.equal(output, x if kept else torch.zeros_like(x))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float64])
@pytest.mark.parametrize("bounds", [(0.9, 3.1, 1.5), (0, 3.1, 1), (2.5, 0.1, -1.0), (3, 3, 1)])
def test_ranges_count_in_the_outputs_dtype(bounds: tuple[float, float, float], dtype: torch.dtype) -> None:
    expected = torch.arange(*bounds, out=torch.empty(0, dtype=dtype))
    found = _result("aten::arange.start_out", *bounds, out=torch.empty(8, dtype=dtype))
    assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float64], ids=str)
def test_ranges_between_the_ends_of_int64_are_exact(dtype: torch.dtype) -> None:
    lowest, highest = -(2**63), 2**63 - 1
    for start, end, step in [(lowest, highest, 2**60), (highest, lowest, -(2**60) - 1), (-(2**62), 2**62, 2**61)]:
        expected = torch.tensor(list(range(start, end, step))).to(dtype)
        found = _result("aten::arange.start_out", start, end, step, out=torch.empty(32, dtype=dtype))
        assert torch.equal(found, expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_polygamma_far_below_zero_takes_no_steps_to_it(n: int) -> None:
    near = torch.tensor([-16.5, -17.25, -40.125, -99.75], dtype=torch.float64)
    output = _result("aten::polygamma.out", n, near, out=torch.empty_like(near))
    torch.testing.assert_close(output, torch.polygamma(n, near), **POLYGAMMA)
    # Farther from zero the result depends only on the fraction, up to about 1 / |x|.
    far = near - 2.0**45
    output = _result("aten::polygamma.out", n, far, out=torch.empty_like(far))
    torch.testing.assert_close(output, torch.polygamma(n, near - 10**6), **FEW_ROUNDINGS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int16])
def test_trigamma_at_its_poles_matches_eager(dtype: torch.dtype) -> None:
    poles = torch.tensor([-3, -2, -1, 0, 1, -40]).to(dtype)
    expected = torch.polygamma(1, poles)
    torch.testing.assert_close(_result("aten::polygamma.out", 1, poles, out=torch.empty_like(expected)), expected)


LOWEST, HIGHEST = -(2**31), 2**31 - 1
DIVIDERS = {
    "aten::fmod.Tensor_out": torch.fmod,
    "aten::remainder.Tensor_out": torch.remainder,
    "aten::floor_divide.out": torch.floor_divide,
}


@pytest.mark.parametrize("name", DIVIDERS)
def test_the_ends_of_int32_are_divided_exactly(name: str) -> None:
    ends = torch.tensor([LOWEST, LOWEST + 1, -(2**30) - 1, -7, -2, -1, 1, 3, 2**30, HIGHEST - 1, HIGHEST])
    x, y = (t.flatten().int() for t in torch.meshgrid(ends, ends, indexing="ij"))
    kept = ~((x == LOWEST) & (y == -1))  # processors trap on this quotient
    x, y = x[kept].repeat(5), y[kept].repeat(5)
    assert torch.equal(_result(name, x, y, out=torch.empty_like(x)), DIVIDERS[name](x, y))
    lowest, minus_one = torch.full((9,), LOWEST).int(), torch.full((9,), -1).int()
    expected = torch.zeros(9).int() if "divide" not in name else lowest
    assert torch.equal(_result(name, lowest, minus_one, out=torch.empty_like(x)), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("side", ["left", "right"])
def test_bits_are_shifted_by_any_number(side: str, dtype: torch.dtype) -> None:
    limits = torch.iinfo(dtype)
    values = torch.tensor([limits.min, limits.max, 1, 77, 0, limits.max // 3], dtype=dtype)
    bits = torch.arange(0 if dtype is torch.uint8 else -2, 70).to(dtype)
    x, by = values.repeat(len(bits)), bits.repeat_interleave(len(values))
    expected = torch.bitwise_left_shift(x, by) if side == "left" else torch.bitwise_right_shift(x, by)
    assert torch.equal(_result(f"aten::bitwise_{side}_shift.Tensor_out", x, by, out=torch.empty_like(x)), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.int64])
@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_floats_outside_of_the_range_of_integers_are_converted_as_in_eager(
    source: torch.dtype, dtype: torch.dtype
) -> None:
    ends = torch.tensor(
        [2.0**31, -3e9, 2.0**32 + 77, -(2.0**31) - 77, 1e20, torch.inf, -torch.inf, torch.nan, -300, 70000]
    )
    ends = ends.double().to(source)
    long = (torch.randn(700) * 1000).abs().to(source)
    long[::70] = ends
    for x in (ends, ends[:1], long):
        expected = x.to(dtype)
        assert torch.equal(_result("aten::copy.out", expected, x, out=torch.zeros_like(expected)), expected)


@pytest.mark.parametrize("sought", [True, False])
def test_one_element_decides_any_and_all_of_a_long_line(sought: bool) -> None:
    name = "any" if sought else "all"
    for place in (None, 0, 1023, 1024, 2999):
        x = torch.full((2, 3000), not sought)
        if place is not None:
            x[1, place] = sought
        output = _result(f"aten::{name}.out", x, 1, out=torch.empty(2, dtype=torch.bool))
        assert torch.equal(output, getattr(torch, name)(x, 1))


def test_empty_rows_are_embedded() -> None:
    weight, indices = torch.empty(5, 0), torch.tensor([[0, 4], [1, 1]])
    assert _result("aten::embedding.out", weight, indices, out=torch.empty(2, 2, 0)).shape == (2, 2, 0)
