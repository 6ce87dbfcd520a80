# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recompose gelu that a model writes by erf, in any order of its factors.

x * 0.5 * (1.0 + erf(x / sqrt(2)))  → gelu(x)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, operator_of
from executorch.exir.rewrite.node_rewrite import argument

_MUL, _DIV = "aten.mul.Tensor", "aten.div.Tensor"
_TOLERANCES = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 1e-3}
"""Dtype → relative tolerance of scalars: 1.4142 for float32, a rounded square root of 2 for half precision."""


@dataclass(frozen=True)
class WrittenGelu:
    """gelu(source). pieces: its calls in the order of the graph. Only the last result is read elsewhere."""

    source: Node
    pieces: tuple[Node, ...]


def gelu_of(program: ExportedProgram, node: Node) -> WrittenGelu | None:
    """Return the gelu whose result is `node`, a product or a quotient."""
    if operator_of(node) not in (_MUL, _DIV):
        return None
    product = _Product(program, node)
    if len(product.factors) != 2 or not _is_near(product.scale, 0.5, node):
        return None
    for source, other in (product.factors, reversed(product.factors)):
        pieces = _pieces_of_distribution(program, other, source)
        if pieces and _is_same_kind(source, node):
            return WrittenGelu(source, tuple(sorted((*pieces, *product.pieces))))
    return None


class _Product:
    """The factors of a product of products: tensors, and all scalars as one. pieces: its calls."""

    def __init__(self, program: ExportedProgram, node: Node) -> None:
        self._program = program
        self.scale = 1.0
        self.factors: list[Node] = []
        self.pieces: list[Node] = []
        self._split(node)

    def _split(self, node: Node) -> None:
        self.pieces.append(node)
        is_quotient = operator_of(node) == _DIV
        for position, operand in enumerate(node.args):
            number = _number(self._program, operand)
            divides = is_quotient and position == 1
            if number is not None and not (divides and number == 0):
                self.scale = self.scale / number if divides else self.scale * number
            elif not isinstance(operand, Node) or divides:
                self.scale = math.nan
            elif operator_of(operand) in (_MUL, _DIV) and len(operand.users) == 1:
                self._split(operand)
            else:
                self.factors.append(operand)


def _pieces_of_distribution(program: ExportedProgram, node: Node, source: Node) -> list[Node]:
    """Return the calls of `node`, if it is 1 + erf(source / sqrt(2)); none otherwise."""
    if operator_of(node) != "aten.add.Tensor":
        return []
    erfs = [term for term in node.args if isinstance(term, Node) and operator_of(term) == "aten.erf.default"]
    numbers = [_number(program, term) for term in node.args if term not in erfs]
    if len(erfs) != 1 or numbers != [1.0] or argument(node, "alpha") != 1:
        return []
    (erf,) = erfs
    scaled = erf.args[0]
    if not isinstance(scaled, Node) or operator_of(scaled) not in (_MUL, _DIV):
        return []
    argument_of_erf = _Product(program, scaled)
    is_scaled = argument_of_erf.factors == [source] and _is_near(argument_of_erf.scale, math.sqrt(0.5), node)
    pieces = [*argument_of_erf.pieces, erf, node]
    return pieces if is_scaled and all(len(piece.users) == 1 for piece in pieces) else []


def _number(program: ExportedProgram, operand: object) -> float | None:
    if isinstance(operand, (int, float)):
        return float(operand)
    fake = operand.meta.get("val") if isinstance(operand, Node) else None
    if not isinstance(fake, torch.Tensor) or fake.dim() or fake.is_complex():
        return None
    value = constant_tensor(program, operand)
    return None if value is None or isinstance(value, FakeTensor) else float(value)


def _is_near(value: float, wanted: float, node: Node) -> bool:
    return math.isclose(value, wanted, rel_tol=_TOLERANCES.get(node.meta["val"].dtype, 0.0))


def _is_same_kind(source: Node, result: Node) -> bool:
    one, other = source.meta["val"], result.meta["val"]
    return bool(one.dtype == other.dtype and one.is_floating_point() and one.shape == other.shape)
