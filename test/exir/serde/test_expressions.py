# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes in serialized programs: what torch writes is read, what would take long to evaluate is refused."""

from __future__ import annotations

import pytest

from executorch.exir.serde.expressions import check_expression

SYMBOL = "Symbol('s0', positive=True, integer=True)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        SYMBOL,
        "2*s0 + 1",
        f"Add(Mul(Integer(2), {SYMBOL}), Integer(-1))",
        f"FloorDiv(Pow({SYMBOL}, Integer(2)), Integer(2))",
        f"Pow({SYMBOL}, Rational(1, 2))",
        f"Max(Integer(1), PythonMod({SYMBOL}, Integer(7)))",
        f"Pow(Integer(2), {SYMBOL})",
    ],
)
def test_sizes_that_torch_writes_are_taken(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exec(chr(35))", "expression of symbols"),
        ("Matrix(10**5, 10**5)", "expression of symbols"),
        ("Permutation(Integer(10**9))", "expression of symbols"),
        ("9**9**9", "exponents"),
        ("1 << 99999999999", "exponents"),
        ("floor(exp(99999999))", "exponents"),
        ("Pow(Integer(9), Pow(Integer(9), Integer(9)))", "exponents"),
        ("Pow(Pow(2*s0, Integer(64)), Integer(64))", "exponents"),
        ("Pow(2, exp=99999999999)", "exponents"),
        ("LShift(Integer(1), Integer(99999999999))", "exponents"),
        ("Pow(2, Mul(Integer(99999), Integer(99999)))", "exponents"),
        ("floor(1e99999999) * floor(1e99999999)", "exponents"),
        ("1e-9_999_999", "exponents"),
        ("Float(1, 99999999) / 3", "exponents"),
        ("(" * 5000, "expression of symbols"),
        ("-" * 10000 + "1", "expression of symbols"),
        ("s0+" * 10000 + "s0", "characters"),
        (7, "expression of symbols"),
    ],
)
def test_sizes_that_are_no_expressions_or_take_long_are_refused(text: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_expression(text)
