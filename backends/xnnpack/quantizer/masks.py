# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find additions of masks. A mask adds a large negative number to the elements that a softmax is to ignore.

    scores + mask       mask: 0 and -100, or 0 and the most negative float

A range of 8 bits that includes the large number has no precision for the scores: such sums stay in float.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from executorch.backends.xnnpack.quantizer.patterns import PATTERN_OF, Kind

_MASKED, _KEPT = -64.0, -16.0
"""A mask has an element below the first number, and one above the second. The weakest masks in use, those of shifted
windows, add -100; tables of relative positions stay above -16."""

_aten = torch.ops.aten
_SUMS = (_aten.add.Tensor, _aten.add_.Tensor)
_PRODUCTS = (_aten.mul.Tensor, _aten.mul_.Tensor)
_CHOICES: dict[object, tuple[int, ...]] = {  # operator → the places of the values that it chooses from
    _aten.masked_fill.Scalar: (2,),
    _aten.masked_fill.Tensor: (2,),
    _aten.where.self: (1, 2),
    _aten.where.ScalarSelf: (1,),
    _aten.where.ScalarOther: (2,),
}
_MOVES = (_aten.expand.default, _aten.to.dtype, _aten._to_copy.default, _aten.index.Tensor)


class Masks:
    """The masks of a graph. constants: its nodes with the same value at every call."""

    def __init__(self, constants: Collection[Node]) -> None:
        self._constants = constants
        self._values: dict[Node, Any] = {}

    def is_added(self, node: Node) -> bool:
        """Return whether a call adds a mask to another tensor."""
        return node.target in _SUMS and any(isinstance(term, Node) and self._is_mask(term) for term in node.args[:2])

    def _is_mask(self, node: Node) -> bool:
        while node not in self._constants and _moves_elements(node):
            node = node.all_input_nodes[0]
        if node in self._constants:
            value = self._value(node)
            return isinstance(value, torch.Tensor) and bool((value <= _MASKED).any() and (value > _KEPT).any())
        if node.target in _PRODUCTS:
            return any(self._masks(factor) for factor in node.args[:2])
        return any(self._masks(node.args[place]) for place in _CHOICES.get(node.target, ()))

    def _masks(self, operand: object) -> bool:
        """Return whether an operand is one large negative number."""
        if isinstance(operand, Node):
            operand = self._value(operand) if operand in self._constants else None
        if isinstance(operand, torch.Tensor):
            operand = operand.item() if operand.numel() == 1 else None
        return isinstance(operand, (int, float)) and operand <= _MASKED

    def _value(self, node: Node) -> Any:
        """Compute the value of a constant, and of the constants that it depends on."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            missing = [source for source in current.all_input_nodes if source not in self._values]
            if missing:
                waiting += missing
            else:
                self._values[waiting.pop()] = self._computed(current)
        return self._values[node]

    def _computed(self, node: Node) -> Any:
        if node.op == "get_attr":
            value: Any = reduce(getattr, str(node.target).split("."), node.graph.owning_module)
            return value.detach() if isinstance(value, torch.Tensor) else value
        target: Any = node.target
        with torch.no_grad():
            args, kwargs = map_arg((node.args, dict(node.kwargs)), self._values.__getitem__)
            return target(*args, **kwargs)


def _moves_elements(node: Node) -> bool:
    pattern = PATTERN_OF.get(node.target)
    is_moved = node.target in _MOVES or (pattern is not None and pattern.kind is Kind.PASSED)
    return is_moved and bool(node.all_input_nodes)
