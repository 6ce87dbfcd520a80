# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""executor_runner --list describes the operators of XNNPACK delegates: name, precision, dtypes and sizes."""

import re
from pathlib import Path

import pytest
from oracle.models.listing import operators_of
from oracle.models.xnnpack_runtime import needs_xnnpack

PROGRAMS = Path(__file__).parents[2] / "data" / "xnnpack"

pytestmark = needs_xnnpack


@pytest.mark.parametrize(
    ("program", "operator"),
    [
        ("two_sizes", r"Convolution .* DWConv in float32: .*float32 \[1, 3, 3, 8\].* -> float32 \[1, 5, 5, 8\]"),
        ("quantized", r".* in float32 to int8: float32 \[1, 3, 8, 8\] -> int8 \[1, 3, 8, 8\]"),
        ("quantized", r"Fully Connected .* in int8: int8 \[1, 8\], int8 \[5, 8\], int32 \[5\] -> int8 \[1, 5\]"),
        ("quantized_rows", r"Fully Connected .* in int8 by int8, quantized at run time: .* -> float32 \[2, 16\]"),
        ("four_bits", r"Fully Connected .* in int8 by int4, quantized at run time: .*int4 \[8, 24\].*"),
    ],
)
def test_the_listing_names_precision_and_sizes(program: str, operator: str) -> None:
    assert any(re.fullmatch(operator, line) for line in operators_of(PROGRAMS / f"{program}.pte"))


def test_each_delegate_has_its_operators() -> None:
    assert len(operators_of(PROGRAMS / "quantized.pte")) == 10
    counts = [len(operators_of(PROGRAMS / f"{name}.pte")) for name in ("quantized_rows", "four_bits")]
    assert counts == [4, 2]


def test_only_products_that_round_their_factors_are_in_bfloat16() -> None:
    lines = operators_of(PROGRAMS / "two_sizes.pte", "--compute_precision", "bf16")
    assert [" in bfloat16: " in line for line in lines] == ["BF16" in line for line in lines]
    limited = operators_of(PROGRAMS / "two_sizes.pte", "--compute_precision", "bf16", EXECUTORCH_MAX_ISA="avx2")
    assert limited == operators_of(PROGRAMS / "two_sizes.pte", EXECUTORCH_MAX_ISA="avx2")
    assert all(" in float32: " in line for line in limited)
