# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A place in a graph where dequantize, compute, quantize may become one operator on int8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.fx.node import map_arg

from executorch.exir.dialects._ops import ops
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

aten: Any = ops.edge.aten

Build = Callable[[], fx.Node]
"""Makes the node with the result's integers."""


@dataclass(frozen=True)
class Constants:
    """The program whose constants a fusion reads and adds to."""

    program: ExportedProgram

    @cached_property
    def known(self) -> dict[str, torch.Tensor]:
        return constant_tensors(self.program)

    def value(self, node: Any) -> torch.Tensor | None:
        """The tensor of a node that depends on constants alone; None for another one."""
        if not isinstance(node, fx.Node) or node.op == "placeholder":
            return self.known.get(node.name) if isinstance(node, fx.Node) else None
        values = {each: self.value(each) for each in node.all_input_nodes}
        if node.op != "call_function" or not values or any(value is None for value in values.values()):
            return None
        args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda each: values[each])
        with torch.no_grad():
            made = node.target(*args, **kwargs)  # type: ignore[operator]
        return made if isinstance(made, torch.Tensor) else None

    def add(self, stem: str, tensor: torch.Tensor, origin: fx.Node) -> fx.Node:
        mode = fake_mode_of(self.program.graph_module)
        assert mode is not None
        with mode:
            value = torch.empty(tensor.shape, dtype=tensor.dtype)
        return add_constant(self.program, stem, tensor.contiguous(), value, origin)


# On what was made for a reader of uint8: the int8 that it was made of.
_SIGNED = "signed"


@dataclass(frozen=True)
class Site:
    """quantize: the call at the end. core: what computes; what is between, `moves` and the activations `limits`, is
    left out. to: the parameters of the result, limited as the activations do.
    """

    constants: Constants
    quantize: fx.Node
    core: fx.Node
    moves: tuple[fx.Node, ...]
    limits: tuple[fx.Node, ...]
    to: Quantization

    def call(self, name: str, *args: Any) -> fx.Node:
        """A fused operator in front of the quantize, in place of the core."""
        target = getattr(ops.edge.quantized_fused, name).default
        value = self.core.meta["val"]
        value = (value[0] if isinstance(value, (tuple, list)) else value).to(torch.int8)
        return insert_before(self.quantize, target, args, {}, value, self.core)

    def integers_behind(self, value: Any) -> fx.Node:
        """A node with the int8 that `value` stands for: moved as the numbers were."""
        source = moved_by(value)
        if source is not None:
            return self._moved(self.integers_behind(source), value)
        integers: fx.Node = value.args[0]
        if integers.meta["val"].dtype is not torch.uint8:
            return integers
        table = torch.arange(256).sub(UNSIGNED).to(torch.int8)
        return integers.meta.get(_SIGNED) or self.looked_up(integers, table)

    def _moved(self, integers: fx.Node, like: fx.Node) -> fx.Node:
        picked = picked_by(like)
        if picked is None:
            return move(integers, like, self.quantize)
        for dim, places in enumerate(picked, 2):
            held = self.constants.add("_fused_places", places, like)
            value = torch.ops.aten.index_select(integers.meta["val"], dim, held.meta["val"])
            integers = insert_before(self.quantize, aten.index_select.default, (integers, dim, held), {}, value, like)
        return integers

    def finish(self, integers: fx.Node) -> fx.Node:
        """The int8 of what was computed as those that the site's readers expect: moved, and of the dtype."""
        for each in self.moves:
            integers = self._moved(integers, each)
        if argument(self.quantize, "dtype") is torch.int8:
            return integers
        made = self.looked_up(integers, torch.arange(256).to(torch.uint8))
        made.meta[_SIGNED] = integers
        return made

    def looked_up(self, integers: fx.Node, table: torch.Tensor) -> fx.Node:
        """What a table makes of integers: its first entry for the least of their dtype."""
        held = self.constants.add("_fused_table", table, self.core)
        value = integers.meta["val"].to(table.dtype)
        lookup = ops.edge.quantized_fused.lookup.default
        return insert_before(self.quantize, lookup, (integers, held), {}, value, self.core)

    @property
    def result(self) -> tuple[int, int, int]:
        """The last arguments of fused operators."""
        return self.to.zero, self.to.least, self.to.most


def site_of(constants: Constants, quantize: fx.Node) -> Site | str:
    """What a quantize is the end of; else why nothing can be fused there."""
    to = quantization_of(quantize)
    if isinstance(to, str):
        return to
    moves: list[fx.Node] = []
    activations: list[fx.Node] = []
    at: Any = quantize.args[0]
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
        return "nothing is computed"
    return Site(constants, quantize, at, tuple(moves), tuple(activations), to)


def _limits(node: fx.Node) -> tuple[float | None, float | None] | None:
    """What numbers an activation that only clamps lets through; None for another call."""
    if node.target is aten.relu.default:
        return 0.0, None
    names = {aten.hardtanh.default: ("min_val", "max_val"), aten.clamp.default: ("min", "max")}.get(node.target)
    if names is None:
        return None
    least, most = (argument(node, name) for name in names)
    if any(isinstance(each, fx.Node) for each in (least, most)) or (None not in (least, most) and least > most):
        return None
    return least, most
