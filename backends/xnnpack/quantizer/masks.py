# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find additions of masks. A mask adds a large negative number to the elements that a softmax is to ignore.

    scores + mask       mask: 0 and -100, or 0 and the most negative float

A range of 8 bits that includes the large number has no precision for the scores: such sums stay in float.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import Any, TypeGuard

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Node
from torch.fx.node import map_arg
from torch.utils._pytree import tree_map_only

from executorch.backends.xnnpack.quantizer.patterns import CONVERSIONS, MOVES, PRODUCTS, SUMS
from executorch.exir.operator.call_effects import writes_arguments

_MASKED, _KEPT = -64.0, -16.0
"""A mask has an element below the first number, and one above the second. The weakest masks in use, those of shifted
windows, add -100; tables of relative positions stay above -16."""

_aten = torch.ops.aten
_CHOICES: dict[object, tuple[int, ...]] = {  # operator → the places of the values that it chooses from
    _aten.masked_fill.Scalar: (2,),
    _aten.masked_fill.Tensor: (2,),
    _aten.masked_fill_.Scalar: (2,),
    _aten.masked_fill_.Tensor: (2,),
    _aten.where.self: (1, 2),
    _aten.where.Scalar: (1, 2),
    _aten.where.ScalarSelf: (1,),
    _aten.where.ScalarOther: (2,),
}
_MOVES = (*MOVES, *CONVERSIONS, _aten.index.Tensor)


def is_readable(value: object) -> TypeGuard[torch.Tensor]:
    """Return whether a value is a tensor of real numbers in memory. Meta and fake tensors have no numbers."""
    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor) or value.is_meta:
        return False
    return not value.is_complex() and value.numel() > 0


class Masks:
    """The masks of a graph. constants: its nodes with the same value at every call."""

    def __init__(self, constants: Collection[Node]) -> None:
        self._constants = constants
        self._values: dict[Node, Any] = {}

    def is_added(self, node: Node) -> bool:
        """Return whether a call adds a mask to another tensor."""
        return node.target in SUMS and any(isinstance(term, Node) and self._is_mask(term) for term in node.args[:2])

    def _is_mask(self, node: Node) -> bool:
        while node not in self._constants and node.target in _MOVES:
            node = node.all_input_nodes[0]
        if node in self._constants:
            value = self._value(node)
            return is_readable(value) and bool((value <= _MASKED).any() and (value > _KEPT).any())
        if node.target in PRODUCTS:
            return any(self._masks(factor) for factor in node.args[:2])
        return any(self._masks(node.args[place]) for place in _CHOICES.get(node.target, ()))

    def _masks(self, operand: object) -> bool:
        """Return whether an operand is a large negative number or consists of such numbers."""
        if isinstance(operand, Node):
            operand = self._value(operand) if operand in self._constants else None
        if isinstance(operand, torch.Tensor):
            return is_readable(operand) and bool((operand <= _MASKED).all())
        return isinstance(operand, (int, float)) and operand <= _MASKED

    def _value(self, node: Node) -> Any:
        """Compute the value of a constant, and of the constants that it depends on."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            if current in self._values:
                waiting.pop()
                continue
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
            if writes_arguments(target):  # also through a view, the model's tensors stay as they are
                args, kwargs = tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
            return target(*args, **kwargs)
