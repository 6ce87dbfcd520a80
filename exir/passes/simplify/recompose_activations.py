# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace the decompositions of hardsigmoid, hardswish and silu by these operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.rewrite.node_rewrite import argument, retarget
from executorch.exir.rewrite.program_constants import constant_tensors

_aten = exir_ops.edge.aten


def recompose_activations(program: ExportedProgram) -> None:
    """Replace each decomposition of hardsigmoid, hardswish and silu by one call of the operator, in place.

    The last call becomes the activation; the others lose their reader.

    Helps: one pass over the activations instead of two to five.

    Results: the last bit may differ, because hardsigmoid and hardswish multiply by 1/6 instead of dividing by 6.
    """
    constants = constant_tensors(program)
    scalars = {name: tensor.item() for name, tensor in constants.items() if _is_number(tensor)}
    modified = False
    for node in program.graph.nodes:
        activation, source = _activation(node, scalars)
        if activation is not None and source is not None and _keeps_float(source, node):
            retarget(node, activation, (source,), {})
            modified = True
    if modified:
        program.graph.eliminate_dead_code()


def _is_number(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 0 and not isinstance(tensor, FakeTensor)


def _activation(node: fx.Node, scalars: Mapping[str, object]) -> tuple[EdgeOpOverload | None, Any]:
    """Return the activation that a call completes, and its operand; None for other calls."""
    if node.target is _aten.div.Tensor and _number(node.args[1], scalars) == 6:
        dividend = node.args[0]
        source = _source_of_relu6(dividend, scalars)
        if source is not None:
            return _aten.hardsigmoid.default, source
        for one, other in _factors(dividend):
            if _source_of_relu6(other, scalars) is one:
                return _aten.hardswish.default, one
    for one, other in _factors(node):
        for gate, activation in _GATES.items():
            if _calls(other, gate) and other.args[0] is one:
                return activation, one
    return None, None


_GATES = {_aten.sigmoid.default: _aten.silu.default, _aten.hardsigmoid.default: _aten.hardswish.default}


def _calls(node: object, target: object) -> TypeGuard[fx.Node]:
    return isinstance(node, fx.Node) and node.target is target


def _factors(node: object) -> list[tuple[Any, Any]]:
    """Return the factors of a product in both orders."""
    if not _calls(node, _aten.mul.Tensor):
        return []
    one, other = node.args
    return [(one, other), (other, one)]


def _source_of_relu6(node: Any, scalars: Mapping[str, object]) -> fx.Node | None:
    """Return x if `node` is relu6(x + 3)."""
    lows, highs = [], []
    while _calls(node, _aten.hardtanh.default) or _calls(node, _aten.clamp.default):
        low, high = ("min", "max") if _calls(node, _aten.clamp.default) else ("min_val", "max_val")
        lows.append(argument(node, low))
        highs.append(argument(node, high))
        node = node.args[0]
    if [low for low in lows if low is not None] != [0] or [high for high in highs if high is not None] != [6]:
        return None
    is_shifted = _calls(node, _aten.add.Tensor) and argument(node, "alpha") == 1
    return node.args[0] if is_shifted and _number(node.args[1], scalars) == 3 else None


def _number(node: object, scalars: Mapping[str, object]) -> object:
    return scalars.get(node.name) if isinstance(node, fx.Node) else node


def _keeps_float(source: fx.Node, node: fx.Node) -> bool:
    """Return whether the operand and the result have the same floating dtype."""
    one, other = source.meta.get("val"), node.meta["val"]
    return isinstance(one, torch.Tensor) and one.dtype == other.dtype and one.is_floating_point()
