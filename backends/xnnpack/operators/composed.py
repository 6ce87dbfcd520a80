# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Elementwise operators that take several nodes of XNNPACK."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import tensors_of
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.lowering.quantization import Affine
from executorch.backends.xnnpack.operators.integers import if_scales
from executorch.backends.xnnpack.operators.rule import Check, OnIntegers, Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g


class _Formula:
    """The values of a formula of one tensor, all of one shape."""

    def __init__(self, low: Lowering, node: Node) -> None:
        (source,) = tensors_of(node)
        self._low, self._node = low, node
        self._order = low.order_of(source)
        self.x = low.read(source, self._order)
        self.is_of_integers = low.on_integers(node)

    def step(self, kind: type, *operands: int) -> int:
        return self._low.step(self._node, kind, *operands, shape=self._low.shape(self._node, self._order))

    def between(self, value: int, least: float, most: float) -> int:
        made = self._low.writer.value(self._node.meta["val"].dtype, self._low.shape(self._node, self._order))
        self._low.writer.node(g.Clamp(value, made), 0, (least, most))
        return made

    def number(self, value: float) -> int:
        return self._low.number(self._node, value)

    def finish(self, kind: type, *operands: int) -> None:
        self._low.add(kind(*operands, self._low.result(self._node, self._order)), self._node)


def _composed(
    write: Callable[[_Formula, Node], None],
    refusal: Check = lambda node, program: None,
    on_integers: OnIntegers | None = None,
) -> Rule:
    return Rule(lambda low, node: write(_Formula(low, node), node), refusal, on_integers=on_integers)


_APART = 5e-4
"""How far the approximation of gelu by tanh is from gelu, at most."""


def _gelu_on_integers(node: Node, result: Affine, program: ExportedProgram) -> bool:
    """Gelu is a table of 256 results, which is good for the approximation within a quantum, too."""
    exact = node.kwargs.get("approximate", "none") == "none"
    return if_scales(lambda operands, made: exact or made > _APART)(node, result, program)


def _gelu(f: _Formula, node: Node) -> None:
    if node.kwargs.get("approximate", "none") == "none" or f.is_of_integers:
        f.finish(g.Gelu, f.x)
        return
    # ½·(1 + tanh u) is the sigmoid of 2u, with u = √(2/π)·(x + 0.044715·x³).
    factor = 2 * math.sqrt(2 / math.pi)
    cubic = f.step(g.Multiply, f.step(g.Square, f.x), f.number(factor * 0.044715))
    inner = f.step(g.Multiply, f.step(g.Add, cubic, f.number(factor)), f.x)
    f.finish(g.Multiply, f.step(g.Sigmoid, inner), f.x)


def _reciprocal(f: _Formula, node: Node) -> None:
    f.finish(g.Div, f.number(1.0), f.x)


def _truncate(f: _Formula, node: Node) -> None:
    """Towards zero: down where positive, up where negative."""
    down = f.step(g.Floor, f.between(f.x, 0.0, math.inf))
    f.finish(g.Add, down, f.step(g.Ceiling, f.between(f.x, -math.inf, 0.0)))


def _square_root(f: _Formula, node: Node) -> None:
    f.finish(g.SquareRoot, f.x)


def _inverse_root(f: _Formula, node: Node) -> None:
    f.finish(g.ReciprocalSquareRoot, f.x)


def _square(f: _Formula, node: Node) -> None:
    f.finish(g.Square, f.x)


def _cube(f: _Formula, node: Node) -> None:
    f.finish(g.Multiply, f.step(g.Square, f.x), f.x)


def _fourth(f: _Formula, node: Node) -> None:
    f.finish(g.Square, f.step(g.Square, f.x))


_POWERS: dict[float, Callable[[_Formula, Node], None]] = {
    -1: _reciprocal,
    -0.5: _inverse_root,
    0.5: _square_root,
    2: _square,
    3: _cube,
    4: _fourth,
}


def _refuse_power(node: Node, program: ExportedProgram) -> str | None:
    return None if node.args[1] in _POWERS else f"exponent is {node.args[1]}, expected one of {sorted(_POWERS)}"


def _power(f: _Formula, node: Node) -> None:
    _POWERS[cast(float, node.args[1])](f, node)


RULES: dict[str, Rule] = {
    "gelu.default": _composed(_gelu, on_integers=_gelu_on_integers),
    "pow.Tensor_Scalar": _composed(_power, _refuse_power),
    "reciprocal.default": _composed(_reciprocal),
    "trunc.default": _composed(_truncate),
}
