# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arithmetic over sizes gives what sympy gives, and refuses expressions that have no steps."""

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Max, Min, Mod, PythonMod

from executorch.exir.memory.sizes.size_steps import NotExpressible, Operation, SizeSteps

A, B = sympy.symbols("a b", integer=True, positive=True)
EXPRESSIONS = [
    A * B + 7,
    FloorDiv(A - 1, 2) + 1,
    FloorDiv(A - 5, B),
    Mod(A + 3, B),
    PythonMod(A - 9, B),
    Max(A, B) * Min(A, B, 12),
    sympy.Max(A - 3, 0) ** 2,
    CleanDiv(A * 6, 3),
    4 * A**3 - (1 << 40),
]


@given(st.sampled_from(EXPRESSIONS), st.integers(1, 1000), st.integers(1, 1000))
def test_steps_compute_the_expression(expression: sympy.Expr, a: int, b: int) -> None:
    steps = SizeSteps()
    steps.symbols = {A: steps.add(Operation.INPUT_SIZE, 0, 0), B: steps.add(Operation.INPUT_SIZE, 1, 2)}
    result = steps.expression(expression)
    assert steps.evaluate({(0, 0): a, (1, 2): b})[result] == expression.subs({A: a, B: b})
    assert all(max(x, y) < i for i, (operation, x, y) in enumerate(steps.rows) if operation >= Operation.ADD)


def test_equal_steps_are_one() -> None:
    steps = SizeSteps(symbols={})
    steps.symbols[A] = steps.add(Operation.INPUT_SIZE, 0, 0)
    first = steps.expression(FloorDiv(A, 2) * 4)
    count = len(steps.rows)
    assert steps.expression(FloorDiv(A, 2) * 4) == first and len(steps.rows) == count
    assert steps.rounded_up(first, 1) == first
    rounded = steps.rounded_up(first, 32)
    assert steps.evaluate({(0, 0): 9})[rounded] == 32


@pytest.mark.parametrize("expression", [B, sympy.sqrt(A), sympy.Rational(1, 2) * A, A**20])
def test_an_expression_without_a_step_is_named(expression: sympy.Expr) -> None:
    steps = SizeSteps()
    steps.symbols[A] = steps.add(Operation.INPUT_SIZE, 0, 0)
    with pytest.raises(NotExpressible, match=r"\w"):
        steps.expression(expression)
