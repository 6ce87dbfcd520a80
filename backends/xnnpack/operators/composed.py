# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Elementwise operators that become several XNNPACK nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, tensors_of
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.lowering.quantization import Affine
from executorch.backends.xnnpack.operators.integers import if_scales
from executorch.backends.xnnpack.operators.rule import Check, OnIntegers, Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection


class _Formula:
    """Values of an elementwise formula over one tensor, all of its shape. single: computed in float32 for any dtype."""

    def __init__(self, low: Lowering, node: Node, single: bool) -> None:
        (source,) = tensors_of(node)
        self._low, self._node = low, node
        self._order = low.order_of(source)
        given: torch.dtype = node.meta["val"].dtype
        self._dtype = torch.float32 if single and given != torch.float32 else None
        x = low.read(source, self._order)
        self.x = x if self._dtype is None else self.step(g.Convert, x)
        self.is_of_integers = low.on_integers(node)

    def step(self, kind: Callable[..., object], *operands: g.ValueId) -> g.ValueId:
        shape = self._low.shape(self._node, self._order)
        return self._low.step(self._node, kind, *operands, shape=shape, dtype=self._dtype)

    def between(self, value: g.ValueId, low: float, high: float) -> g.ValueId:
        dtype = self._dtype or self._node.meta["val"].dtype
        output = self._low.writer.value(dtype, self._low.shape(self._node, self._order))
        self._low.writer.node(g.Clamp(value, output), 0, (low, high))
        return output

    def compare(self, kind: type, left: g.ValueId, right: g.ValueId) -> g.ValueId:
        output = self._low.writer.value(torch.bool, self._low.shape(self._node, self._order))
        self._low.writer.node(kind(left, right, output), 0)
        return output

    def scalar(self, value: float) -> g.ValueId:
        return self._low.writer.constant(torch.tensor(value, dtype=self._dtype or self._node.meta["val"].dtype))

    def finish(self, kind: Callable[..., object], *operands: g.ValueId) -> None:
        if self._dtype is not None:
            kind, operands = g.Convert, (self.step(kind, *operands),)
        self._low.add(kind(*operands, self._low.result(self._node, self._order)), self._node)


def _composed(
    write: Callable[[_Formula, Node], None],
    refusal: Check = lambda node, program: None,
    on_integers: OnIntegers | None = None,
    single: bool = False,
    newer: bool = False,
) -> Rule:
    return Rule(
        lambda low, node: write(_Formula(low, node, single), node),
        refusal,
        on_integers=on_integers,
        newer=lambda node, program: newer,
    )


_TANH_ERROR = 5e-4
"""Maximum error of the tanh approximation of gelu."""


def _gelu_on_integers(node: Node, result: Affine, program: ExportedProgram) -> bool:
    """int8 gelu is a table of 256 results. It also serves the tanh approximation if that error is below one quantum."""
    exact = node.kwargs.get("approximate", "none") == "none"
    return if_scales(lambda operands, scale: exact or scale > _TANH_ERROR)(node, result, program)


def _gelu(f: _Formula, node: Node) -> None:
    if node.kwargs.get("approximate", "none") == "none" or f.is_of_integers:
        f.finish(g.Gelu, f.x)
        return
    # ½·(1 + tanh u) is the sigmoid of 2u, with u = √(2/π)·(x + 0.044715·x³).
    factor = 2 * math.sqrt(2 / math.pi)
    cubic = f.step(g.Multiply, f.step(g.Square, f.x), f.scalar(factor * 0.044715))
    inner = f.step(g.Multiply, f.step(g.Add, cubic, f.scalar(factor)), f.x)
    f.finish(g.Multiply, f.step(g.Sigmoid, inner), f.x)


def _reciprocal(f: _Formula, node: Node) -> None:
    f.finish(g.Div, f.scalar(1.0), f.x)


def _truncate(f: _Formula, node: Node) -> None:
    """Towards zero: down where positive, up where negative."""
    down = f.step(g.Floor, f.between(f.x, 0.0, math.inf))
    f.finish(g.Add, down, f.step(g.Ceiling, f.between(f.x, -math.inf, 0.0)))


def _exponential_less_one(f: _Formula, node: Node) -> None:
    """An ELU where x is negative; else the ELU of -x times -exp(x). Neither cancels where x is small."""
    below = f.step(partial(g.ELU, 1.0), f.step(g.Negate, f.step(g.Abs, f.x)))
    above = f.step(g.Multiply, f.step(g.Negate, below), f.step(g.Exp, f.x))
    f.finish(g.Select, f.compare(g.Less, f.x, f.scalar(0.0)), below, above)


def _logarithm_of_one_more(f: _Formula, node: Node) -> None:
    """log(u) * x / (u - 1) with u = 1 + x: the quotient corrects the rounding of u. The quotient is
    1 where u - 1 equals x, as for infinity; the result is x where u is 1.
    """
    u = f.step(g.Add, f.x, f.scalar(1.0))
    rounded = f.step(g.Subtract, u, f.scalar(1.0))
    exact = f.compare(g.Equal, rounded, f.x)
    quotient = f.step(g.Select, exact, f.scalar(1.0), f.step(g.Div, f.x, rounded))
    product = f.step(g.Multiply, f.step(g.Log, u), quotient)
    f.finish(g.Select, f.compare(g.Equal, rounded, f.scalar(0.0)), f.x, product)


_MAX_EXPONENT = 8


def _refuse_power(node: Node, program: ExportedProgram) -> Rejection | None:
    exponent = node.args[1]
    if not isinstance(exponent, (int, float)) or not 0 < abs(exponent) <= _MAX_EXPONENT:
        is_product = False
    elif exponent < 0:  # the inverse of sqrt(-0) is -inf, but a power is +inf
        is_product = exponent % 1 == 0 or exponent == -0.5
    else:
        is_product = 4 * exponent % 1 == 0
    if is_product:
        return None
    return Rejection(
        f"exponent is {exponent}, expected -0.5, a positive multiple of 0.25 or a negative integer, of at most "
        f"{_MAX_EXPONENT}"
    )


def _power(f: _Formula, node: Node) -> None:
    exponent, powers = float(cast(float, node.args[1])), {1.0: f.x}
    if exponent % 1 != 0 and abs(exponent) != 0.5:  # PyTorch takes only these as roots; others give +inf and +0
        finite = f.step(g.Select, f.compare(g.Equal, f.x, f.scalar(-math.inf)), f.scalar(math.inf), f.x)
        powers[1.0] = f.step(g.Add, finite, f.scalar(0.0))

    def value(exponent: float) -> g.ValueId:
        if exponent not in powers:
            kind, operands = last_step(exponent)
            powers[exponent] = f.step(kind, *map(value, operands))
        return powers[exponent]

    def last_step(exponent: float) -> tuple[Callable[..., object], tuple[float, ...]]:
        """The last operator of a power, and the exponents of its operands."""
        if exponent == -0.5:
            return g.ReciprocalSquareRoot, (1.0,)
        if exponent < 0:
            return partial(g.Div, f.scalar(1.0)), (-exponent,)
        if exponent == 1:
            return g.Copy, (1.0,)
        part = 2.0 ** math.floor(math.log2(exponent))
        if part < exponent:
            return g.Multiply, (part, exponent - part)
        return (g.Square, (part / 2,)) if part > 1 else (g.SquareRoot, (part * 2,))

    kind, operands = last_step(exponent)
    f.finish(kind, *map(value, operands))


# Above this x, 1 + exp(x) == exp(x) in float32.
_MIN_THRESHOLD, _MAX_THRESHOLD = 17.0, 80.0


def _softplus_arguments(node: Node) -> tuple[object, object]:
    """Factor and threshold."""
    return argument(node, 1, "beta", 1), argument(node, 2, "threshold", 20)


def _refuse_softplus(node: Node, program: ExportedProgram) -> Rejection | None:
    beta, threshold = _softplus_arguments(node)
    if not isinstance(beta, (int, float)) or not beta > 0:
        return Rejection(f"beta is {beta}, expected a positive number")
    if not isinstance(threshold, (int, float)) or not _MIN_THRESHOLD <= threshold <= _MAX_THRESHOLD:
        return Rejection(f"threshold is {threshold}, expected {_MIN_THRESHOLD} to {_MAX_THRESHOLD}")
    return None


def _softplus(f: _Formula, node: Node) -> None:
    """log(1 + eˣ) = max(x, 0) + log(1 + z) with z = e⁻ˡˣˡ. log(1 + z) = log u + (z - (u - 1)) / u with u = 1 + z
    rounded: the second term restores the bits of z that rounding loses.
    """
    beta, _ = cast("tuple[float, float]", _softplus_arguments(node))
    x = f.x if beta == 1 else f.step(g.Multiply, f.x, f.scalar(beta))
    z = f.step(g.Exp, f.step(g.Negate, f.step(g.Abs, x)))
    u = f.step(g.Add, z, f.scalar(1.0))
    lost = f.step(g.Subtract, z, f.step(g.Subtract, u, f.scalar(1.0)))
    log = f.step(g.Add, f.step(g.Log, u), f.step(g.Div, lost, u))
    above = f.between(x, 0.0, math.inf)
    if beta == 1:
        f.finish(g.Add, above, log)
    else:
        f.finish(g.Multiply, f.step(g.Add, above, log), f.scalar(1 / beta))


def _mish(f: _Formula, node: Node) -> None:
    """x · tanh(log(1 + eˣ)) is x · n / (n + 2) with n = eˣ · (eˣ + 2). Where eˣ is large that is x."""
    power = f.step(g.Exp, f.between(f.x, -math.inf, 20.0))
    n = f.step(g.Multiply, f.step(g.Add, power, f.scalar(2.0)), power)
    f.finish(g.Multiply, f.step(g.Div, n, f.step(g.Add, n, f.scalar(2.0))), f.x)


RULES: dict[str, Rule] = {
    "expm1.default": _composed(_exponential_less_one, single=True, newer=True),
    "log1p.default": _composed(_logarithm_of_one_more, single=True, newer=True),
    "sign.default": _composed(lambda f, node: f.finish(g.Sign, f.x), single=True),
    "softplus.default": _composed(_softplus, _refuse_softplus, single=True),
    "mish.default": _composed(_mish, single=True),
    "gelu.default": _composed(_gelu, on_integers=_gelu_on_integers),
    "pow.Tensor_Scalar": _composed(_power, _refuse_power),
    "reciprocal.default": _composed(_reciprocal),
    "trunc.default": _composed(_truncate),
}
