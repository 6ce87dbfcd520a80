# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A site: dequantize, compute, quantize in a graph that may become one operator on int8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.fx.node import Argument, map_arg

from executorch.exir.dialects._ops import ops
from executorch.exir.error import Rejection
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.node_rewrite import argument, insert_before
from executorch.exir.rewrite.program_constants import add_constant, constant_tensors
from executorch.exir.rewrite.quantized_values import (
    MOVES,
    UNSIGNED,
    Quantization,
    move,
    moved_by,
    picked_by,
    quantization_of,
)

aten = ops.edge.aten

Fusion = Callable[[], fx.Node]
"""Inserts the fused operator, and returns its node."""


@dataclass(frozen=True)
class Constants:
    """The constants of a program, which a fusion reads and extends."""

    program: ExportedProgram

    @cached_property
    def known(self) -> dict[str, torch.Tensor]:
        """The tensor of each constant placeholder, by the node's name."""
        return constant_tensors(self.program)

    def value(self, node: object) -> torch.Tensor | None:
        """Return the tensor of a node that depends only on constants, None for any other node."""
        if not isinstance(node, fx.Node) or node.op == "placeholder":
            return self.known.get(node.name) if isinstance(node, fx.Node) else None
        values = {source: self.value(source) for source in node.all_input_nodes}
        if node.op != "call_function" or not values or any(value is None for value in values.values()):
            return None
        args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda source: values[source])
        with torch.no_grad():
            result = node.target(*args, **kwargs)  # type: ignore[operator]
        return result if isinstance(result, torch.Tensor) else None

    def add(self, stem: str, tensor: torch.Tensor, origin: fx.Node) -> fx.Node:
        """Add a constant to the program; return its placeholder. origin: node whose metadata it takes."""
        mode = fake_mode_of(self.program.graph_module)
        assert mode is not None
        with mode:
            value = torch.empty(tensor.shape, dtype=tensor.dtype)
        return add_constant(self.program, stem, tensor.contiguous(), value, origin)


# Key of `node.meta` on a conversion to uint8: its int8 operand.
_SIGNED = "signed"


@dataclass(frozen=True)
class Site:
    """The nodes core ─▶ (limits, moves ─▶) quantize.

    core: computes the result. moves, limits: calls between core and quantize that move elements, and that clamp them.
    to: the parameters of the result, with the clamps of `limits`.
    """

    constants: Constants
    quantize: fx.Node
    core: fx.Node
    moves: tuple[fx.Node, ...]
    limits: tuple[fx.Node, ...]
    to: Quantization

    def call(self, name: str, *args: Argument) -> fx.Node:
        """Insert a fused operator that replaces the core, before the quantize."""
        target = getattr(ops.edge.quantized_fused, name).default
        value = self.core.meta["val"]
        value = (value[0] if isinstance(value, (tuple, list)) else value).to(torch.int8)
        return insert_before(self.quantize, target, args, {}, value, self.core)

    def integers_of(self, value: Any) -> fx.Node:
        """Return a node with the int8 of a dequantized `value`, after the same moves."""
        source = moved_by(value)
        if source is not None:
            return self._moved(self.integers_of(source), value)
        integers: fx.Node = value.args[0]
        if integers.meta["val"].dtype is not torch.uint8:
            return integers
        table = torch.arange(256).sub(UNSIGNED).to(torch.int8)
        return integers.meta.get(_SIGNED) or self.look_up_table(integers, table)

    def _moved(self, integers: fx.Node, like: fx.Node) -> fx.Node:
        picked = picked_by(like)
        if picked is None:
            return move(integers, like, self.quantize)
        for dim, places in enumerate(picked, 2):
            indices = self.constants.add("_fused_places", places, like)
            value = torch.ops.aten.index_select(integers.meta["val"], dim, indices.meta["val"])
            integers = insert_before(
                self.quantize, aten.index_select.default, (integers, dim, indices), {}, value, like
            )
        return integers

    def finish(self, integers: fx.Node) -> fx.Node:
        """Apply the site's moves to the result, and convert it to the dtype of the quantize."""
        for moved in self.moves:
            integers = self._moved(integers, moved)
        if argument(self.quantize, "dtype") is torch.int8:
            return integers
        lookup = self.look_up_table(integers, torch.arange(256).to(torch.uint8))
        lookup.meta[_SIGNED] = integers
        return lookup

    def look_up_table(self, integers: fx.Node, table: torch.Tensor) -> fx.Node:
        """Insert a table look-up of integers. The first entry is for the smallest integer of their dtype."""
        constant = self.constants.add("_fused_table", table, self.core)
        value = integers.meta["val"].to(table.dtype)
        lookup = ops.edge.quantized_fused.lookup.default
        return insert_before(self.quantize, lookup, (integers, constant), {}, value, self.core)

    @property
    def result(self) -> tuple[int, int, int]:
        """The last arguments of fused operators: zero point, quant_min, quant_max."""
        return self.to.zero_point, self.to.quant_min, self.to.quant_max


def site_of(constants: Constants, quantize: fx.Node) -> Site | Rejection:
    """Return the site that ends with a quantize, or the reason why it cannot be fused."""
    to = quantization_of(quantize)
    if isinstance(to, Rejection):
        return to
    moves: list[fx.Node] = []
    activations: list[fx.Node] = []
    at: object = quantize.args[0]
    while isinstance(at, fx.Node) and len(at.users) == 1:
        limits = _limits(at)
        if limits is not None:
            to = to.within(*limits)
            activations.insert(0, at)
        elif at.target in MOVES or picked_by(at) is not None:
            moves.insert(0, at)
        else:
            break
        at = at.args[0]
    if not isinstance(at, fx.Node):
        return Rejection("nothing is computed")
    return Site(constants, quantize, at, tuple(moves), tuple(activations), to)


def _limits(node: fx.Node) -> tuple[float | None, float | None] | None:
    """Return the limits of a clamping activation, None for any other call."""
    if node.target is aten.relu.default:
        return 0.0, None
    names = {aten.hardtanh.default: ("min_val", "max_val"), aten.clamp.default: ("min", "max")}.get(node.target)
    if names is None:
        return None
    low, high = (argument(node, name) for name in names)
    if any(isinstance(limit, fx.Node) for limit in (low, high)) or (None not in (low, high) and low > high):
        return None
    return low, high
