# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Numbers in a graph that stand for int8: what dequantize made, and what only moves such numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx

from executorch.exir.dialects._ops import ops
from executorch.exir.passes.node_rewrite import argument, insert_before

_LIBRARY = "quantized_decomposed::"
aten: Any = ops.edge.aten

# Each takes a tensor first, moves its elements, and gives the integers of the moved numbers when it moves integers.
MOVES = (
    aten.permute_copy.default,
    aten.select_copy.int,
    aten.slice_copy.Tensor,
    aten.squeeze_copy.dims,
    aten.unsqueeze_copy.default,
    aten.view_copy.default,
)


@dataclass(frozen=True)
class Quantization:
    """number = (integer - zero) * scale; integers from `least` to `most` are made."""

    scale: float
    zero: int
    least: int
    most: int

    def integers(self, numbers: torch.Tensor) -> torch.Tensor:
        """int8 of numbers, as the graph's quantize gives them."""
        decomposed = torch.ops.quantized_decomposed
        made: torch.Tensor = decomposed.quantize_per_tensor(
            numbers, self.scale, self.zero, self.least, self.most, torch.int8
        )
        return made

    def numbers(self, integers: torch.Tensor) -> torch.Tensor:
        """float32 of int8, as the graph's dequantize gives them."""
        decomposed = torch.ops.quantized_decomposed
        made: torch.Tensor = decomposed.dequantize_per_tensor(integers, self.scale, self.zero, -128, 127, torch.int8)
        return made

    def within(self, least: float | None, most: float | None) -> Quantization:
        """The same for numbers that are clamped before: the limits are integers' then."""
        low, high = (None if each is None else int(self.integers(torch.tensor(float(each)))) for each in (least, most))
        return replace(
            self,
            least=self.least if low is None else max(self.least, low),
            most=self.most if high is None else min(self.most, high),
        )

    def stands_for_the_same(self, other: Quantization) -> bool:
        return (self.scale, self.zero) == (other.scale, other.zero)


def operator(node: Any) -> str:
    """The qualified name of the operator that a node calls ("aten::add.Tensor"), or ""."""
    target = getattr(node, "target", None)
    if getattr(node, "op", "") != "call_function" or not callable(getattr(target, "name", None)):
        return ""
    return str(target.name())  # type: ignore[union-attr]


def is_quantize(node: Any) -> bool:
    return operator(node).startswith(f"{_LIBRARY}quantize_per_tensor")


def is_dequantize(node: Any) -> bool:
    return operator(node).startswith(f"{_LIBRARY}dequantize_per_")


def quantization_of(node: fx.Node) -> Quantization | str:
    """The parameters of a call that quantizes or dequantizes a tensor of int8; else why there are none."""
    if not operator(node).endswith(("quantize_per_tensor.default", "quantize_per_tensor")):
        return "its scales are found while running, or are of channels or groups"
    dtype = argument(node, "dtype")
    if dtype is not torch.int8:
        return f"its integers are {dtype}, and fused operators take torch.int8"
    if is_dequantize(node) and node.meta["val"].dtype is not torch.float32:
        return f"it computes in {node.meta['val'].dtype}, not in torch.float32"
    scale, *rest = (argument(node, name) for name in ("scale", "zero_point", "quant_min", "quant_max"))
    found = Quantization(float(scale), *(int(each) for each in rest))
    if not (-128 <= found.least <= found.most <= 127 and -128 <= found.zero <= 127):
        return f"its zero point and limits {found.zero}, {found.least}, {found.most} are beyond int8"
    return found


def source_of(value: Any) -> fx.Node | str:
    """The call that dequantized what `value` has, maybe moved since; else why there is none."""
    while isinstance(value, fx.Node) and value.target in MOVES:
        value = value.args[0]
    if not is_dequantize(value):
        return "an operand is not quantized"
    assert isinstance(value, fx.Node)
    return value


def operand(value: Any) -> Quantization | str:
    """The parameters of an operand's integers."""
    source = source_of(value)
    return source if isinstance(source, str) else quantization_of(source)


def integers_behind(value: fx.Node, where: fx.Node) -> fx.Node:
    """A node with the integers that `value` stands for, in front of `where`: moved as the numbers were."""
    if value.target not in MOVES:
        found: fx.Node = value.args[0]  # type: ignore[assignment]
        return found
    source: Any = value.args[0]
    return move(integers_behind(source, where), value, where)


def move(integers: fx.Node, like: fx.Node, where: fx.Node) -> fx.Node:
    """What `like` does to numbers, done to integers."""
    value = like.meta["val"].to(torch.int8)
    return insert_before(where, like.target, (integers, *like.args[1:]), dict(like.kwargs), value, like)
