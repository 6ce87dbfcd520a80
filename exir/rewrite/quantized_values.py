# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dequantized values of 8-bit integers in a graph, and the moves of their elements.

uint8 is represented as int8 minus 128 with a zero point minus 128, which dequantizes to the same floats.
"""

from __future__ import annotations

import operator as python
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import fx
from torch.utils._pytree import tree_leaves

from executorch.exir.dialects._ops import ops
from executorch.exir.error import Rejection
from executorch.exir.rewrite.node_rewrite import argument, insert_before

_LIBRARY = "quantized_decomposed::"
aten = ops.edge.aten

# Operators that only move, repeat or drop elements of their first argument: they commute with dequantize.
MOVES = (
    aten.alias_copy.default,
    aten.expand_copy.default,
    aten.flip.default,
    aten.index_select.default,
    aten.permute_copy.default,
    aten.pixel_shuffle.default,
    aten.pixel_unshuffle.default,
    *(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default),
    aten.repeat.default,
    *(aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default),
    aten.roll.default,
    aten.select_copy.int,
    aten.slice_copy.Tensor,
    aten.squeeze_copy.dims,
    aten.unsqueeze_copy.default,
    aten.view_copy.default,
    ops.edge.dim_order_ops._clone_dim_order.default,
)

# Operators that repeat rows and columns of images.
_ENLARGES = (aten.upsample_nearest2d.vec, aten.upsample_nearest2d.default)

UNSIGNED = 128
"""Difference between a uint8 and its representation as int8."""


@dataclass(frozen=True)
class Quantization:
    """float = (integer - zero_point) * scale; quantize clamps integers to quant_min … quant_max."""

    scale: float
    zero_point: int
    quant_min: int
    quant_max: int

    def quantize(self, values: torch.Tensor) -> torch.Tensor:
        """Quantize floats to int8 as the graph does."""
        decomposed = torch.ops.quantized_decomposed
        integers: torch.Tensor = decomposed.quantize_per_tensor(
            values, self.scale, self.zero_point, self.quant_min, self.quant_max, torch.int8
        )
        return integers

    def dequantize(self, integers: torch.Tensor) -> torch.Tensor:
        """Dequantize int8 to float32 as the graph does."""
        decomposed = torch.ops.quantized_decomposed
        values: torch.Tensor = decomposed.dequantize_per_tensor(
            integers, self.scale, self.zero_point, -128, 127, torch.int8
        )
        return values

    def within(self, minimum: float | None, maximum: float | None) -> Quantization:
        """Return the parameters with the integer limits narrowed to a clamp of the floats."""
        low, high = (
            None if limit is None else int(self.quantize(torch.tensor(float(limit)))) for limit in (minimum, maximum)
        )
        return replace(
            self,
            quant_min=self.quant_min if low is None else max(self.quant_min, low),
            quant_max=self.quant_max if high is None else min(self.quant_max, high),
        )


def operator(node: object) -> str:
    """Return the qualified name of the operator that a node calls ("aten::add.Tensor"), or ""."""
    target = getattr(node, "target", None)
    if getattr(node, "op", "") != "call_function" or not callable(getattr(target, "name", None)):
        return ""
    return str(target.name())  # type: ignore[union-attr]


def is_quantize(node: object) -> bool:
    """Return whether a node quantizes with one scale for the tensor."""
    return operator(node).startswith(f"{_LIBRARY}quantize_per_tensor")


def is_dequantize(node: object) -> bool:
    """Return whether a node dequantizes, with scales per tensor, channel, group or token."""
    return operator(node).startswith(f"{_LIBRARY}dequantize_per_")


def quantization_of(node: fx.Node) -> Quantization | Rejection:
    """Return the parameters of a per-tensor quantize or dequantize of int8 or uint8, or why it has none."""
    if not operator(node).endswith(("quantize_per_tensor.default", "quantize_per_tensor")):
        return Rejection("its scale is computed at run time, or it has scales per channel or group")
    dtype = argument(node, "dtype")
    if dtype not in (torch.int8, torch.uint8):
        return Rejection(f"its integers are {dtype}, and fused operators take torch.int8 and torch.uint8")
    if is_dequantize(node) and node.meta["val"].dtype is not torch.float32:
        return Rejection(f"it computes in {node.meta['val'].dtype}, not in torch.float32")
    scale, *rest = (argument(node, name) for name in ("scale", "zero_point", "quant_min", "quant_max"))
    zero, quant_min, quant_max = (int(number) for number in rest)
    limits = torch.iinfo(dtype)
    if not (limits.min <= quant_min <= quant_max <= limits.max and limits.min <= zero <= limits.max):
        return Rejection(f"its zero point and limits {zero}, {quant_min}, {quant_max} are out of range for {dtype}")
    less = UNSIGNED if dtype is torch.uint8 else 0
    return Quantization(float(scale), zero - less, quant_min - less, quant_max - less)


def _parts(node: fx.Node) -> list[int] | None:
    """Return the sizes of all parts if a node is one part of a split tensor, else None."""
    split: Any = node.args[0] if node.target is python.getitem else None
    if getattr(split, "target", None) is not aten.split_with_sizes_copy.default:
        return None
    sizes = list(argument(split, "split_sizes"))
    return sizes if all(isinstance(size, int) for size in sizes) else None


def picked_by(node: fx.Node) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the row and column indices that a nearest upsampling reads of contiguous images, else None."""
    source: Any = node.args[0] if node.target in _ENLARGES else None
    if source is None or list(source.meta["val"].dim_order()) != [0, 1, 2, 3]:
        return None
    sizes = list(source.meta["val"].shape[2:])
    rest = tree_leaves((node.args[1:], dict(node.kwargs)))
    if any(isinstance(number, (fx.Node, torch.SymInt)) for number in (*sizes, *rest)):
        return None
    rows, columns = (torch.arange(float(size)) for size in sizes)
    with torch.no_grad():
        grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"))[None]
        picked: torch.Tensor = node.target(grid, *node.args[1:], **node.kwargs)  # type: ignore[operator]
    return picked[0, 0, :, 0].long(), picked[0, 1, 0].long()


def moved_by(node: object) -> fx.Node | None:
    """Return the operand of a call that only moves elements, None for any other node."""
    if not isinstance(node, fx.Node) or node.op != "call_function":
        return None
    source: object = node.args[0] if node.target in MOVES or picked_by(node) is not None else None
    if _parts(node) is not None:
        source = cast(fx.Node, node.args[0]).args[0]
    return source if isinstance(source, fx.Node) else None


def source_of(value: object) -> fx.Node | Rejection:
    """Return the dequantize of a value, through moves, or why there is none."""
    while (moved := moved_by(value)) is not None:
        value = moved
    if not is_dequantize(value):
        return Rejection("an operand is not quantized")
    assert isinstance(value, fx.Node)
    return value


def operand(value: object) -> Quantization | Rejection:
    """Return the parameters of an operand's integers, or why there are none."""
    source = source_of(value)
    return source if isinstance(source, Rejection) else quantization_of(source)


def move(integers: fx.Node, like: fx.Node, where: fx.Node) -> fx.Node:
    """Insert the move `like` on integers, before `where`."""
    value = like.meta["val"].to(torch.int8)
    sizes = _parts(like)
    if sizes is None:
        return insert_before(where, like.target, (integers, *like.args[1:]), dict(like.kwargs), value, like)
    split, index = like.args
    assert isinstance(split, fx.Node) and isinstance(index, int)
    before = sum(sizes[:index])
    part = (argument(split, "dim"), before, before + sizes[index])
    return insert_before(where, aten.slice_copy.Tensor, (integers, *part), {}, value, like)
