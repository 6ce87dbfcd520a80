# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Straight-line arithmetic over the inputs' sizes, which the runtime evaluates before an execution.

A step is (operation, a, b); equal steps are stored once. Values are int64; the runtime rejects an overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NewType

import sympy
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Mod, PythonMod
from torch.utils._sympy.functions import Max as TorchMax
from torch.utils._sympy.functions import Min as TorchMin

SizeStep = NewType("SizeStep", int)
"""Number of a row of `SizeSteps`, whose result an operation or the plan refers to."""


class Operation(IntEnum):
    """Operations of steps, numbered as in the runtime (`runtime/executor/execute/parametric_plan.cpp`)."""

    CONSTANT = 0  # a is the number's low 32 bits, b the high ones
    INPUT_SIZE = 1  # of input a, dimension b
    ADD = 2  # of the results of steps a and b, like the operations below
    MULTIPLY = 3
    DIVIDE = 4  # rounded down; b is above 0
    MAXIMUM = 5


_APPLY: dict[Operation, Callable[[int, int], int]] = {
    Operation.ADD: lambda a, b: a + b,
    Operation.MULTIPLY: lambda a, b: a * b,
    Operation.DIVIDE: lambda a, b: a // b,
    Operation.MAXIMUM: max,
}
# The operation that combines the arguments of a sympy node.
_FOLDS: dict[type, Operation] = {
    sympy.Add: Operation.ADD,
    sympy.Mul: Operation.MULTIPLY,
    sympy.Max: Operation.MAXIMUM,
    TorchMax: Operation.MAXIMUM,
    FloorDiv: Operation.DIVIDE,
    CleanDiv: Operation.DIVIDE,
}
_HIGHEST_POWER = 8


class NotExpressible(ValueError):
    """No operation computes the expression."""


@dataclass
class SizeSteps:
    """A growing list of steps.

    `rows`: the steps. `symbols`: the number of the step that computes each symbol.
    """

    rows: list[tuple[Operation, int, int]] = field(default_factory=list)
    symbols: dict[sympy.Symbol, SizeStep] = field(default_factory=dict)
    _known: dict[tuple[Operation, int, int], SizeStep] = field(default_factory=dict)

    def add(self, operation: Operation, a: int, b: int) -> SizeStep:
        """Return the number of the step, new or known."""
        row = (operation, a, b)
        if row not in self._known:
            self._known[row] = SizeStep(len(self.rows))
            self.rows.append(row)
        return self._known[row]

    def constant(self, number: int) -> SizeStep:
        """Return a step whose result is the 64-bit integer."""
        bits = number & ((1 << 64) - 1)
        return self.add(Operation.CONSTANT, bits & 0xFFFFFFFF, bits >> 32)

    def largest(self, steps: Sequence[SizeStep]) -> SizeStep:
        """Return a step that computes the maximum of the steps' results; of 0 if there are no steps."""
        distinct = list(dict.fromkeys(steps))
        if not distinct:
            return self.constant(0)
        maximum = distinct[0]
        for step in distinct[1:]:
            maximum = self.add(Operation.MAXIMUM, maximum, step)
        return maximum

    def rounded_up(self, step: SizeStep, multiple: int) -> SizeStep:
        """Return a step that rounds a step's result up to a multiple."""
        if multiple == 1:
            return step
        raised = self.add(Operation.ADD, step, self.constant(multiple - 1))
        unit = self.constant(multiple)
        return self.add(Operation.MULTIPLY, self.add(Operation.DIVIDE, raised, unit), unit)

    def expression(self, expr: int | sympy.Expr) -> SizeStep:
        """Return the step of an expression. Raises NotExpressible for unbound symbols and other functions."""
        if isinstance(expr, int) or expr.is_Integer:
            return self.constant(int(expr))
        if isinstance(expr, sympy.Symbol):
            if expr not in self.symbols:
                raise NotExpressible(f"{expr} is not a function of the inputs' sizes")
            return self.symbols[expr]
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and 0 < int(expr.exp) <= _HIGHEST_POWER:
            return self._folded(Operation.MULTIPLY, [expr.base] * int(expr.exp))
        if isinstance(expr, (Mod, PythonMod)):
            a, b = (self.expression(arg) for arg in expr.args)
            multiple = self.add(Operation.MULTIPLY, self.add(Operation.DIVIDE, a, b), b)
            return self.add(Operation.ADD, a, self._negative(multiple))
        if isinstance(expr, (sympy.Min, TorchMin)):
            return self._negative(self.largest([self._negative(self.expression(arg)) for arg in expr.args]))
        if type(expr) not in _FOLDS:
            raise NotExpressible(f"{expr} is a {type(expr).__name__}")
        return self._folded(_FOLDS[type(expr)], list(expr.args))

    def _negative(self, step: SizeStep) -> SizeStep:
        return self.add(Operation.MULTIPLY, step, self.constant(-1))

    def _folded(self, operation: Operation, args: Sequence[sympy.Expr]) -> SizeStep:
        steps = [self.expression(arg) for arg in args]
        result = steps[0]
        for step in steps[1:]:
            result = self.add(operation, result, step)
        return result

    def evaluate(self, input_sizes: Mapping[tuple[int, int], int]) -> list[int]:
        """Return the results of all steps; `input_sizes`: (input, dimension) → size."""
        values: list[int] = []
        for operation, a, b in self.rows:
            if operation is Operation.CONSTANT:
                bits = b << 32 | a
                values.append(bits - (1 << 64) if bits >> 63 else bits)
            elif operation is Operation.INPUT_SIZE:
                values.append(input_sizes[a, b])
            else:
                values.append(_APPLY[operation](values[a], values[b]))
        return values
