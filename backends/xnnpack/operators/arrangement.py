# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators that move elements, and softmax, which XNNPACK has for the last dimension."""

from __future__ import annotations

from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, is_static, rank
from executorch.backends.xnnpack.lowering.layout import (
    TO_CHANNELS_LAST,
    TO_PLAIN,
    Layout,
    arranged,
    place_of,
)
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g

_CONCATENATES = {2: g.Concatenate2, 3: g.Concatenate3, 4: g.Concatenate4, 5: g.Concatenate5}
_MOST_CONCATENATED = max(_CONCATENATES)


def _refuse_cat(node: Node, program: ExportedProgram) -> str | None:
    return None if len(cast("list[Node]", node.args[0])) > 1 else "it has one operand"


def _cat(low: Lowering, node: Node) -> None:
    sources = cast("list[Node]", node.args[0])
    dim = cast(int, argument(node, 1, "dim", 0))
    layout = low.layout_of(*sources)
    axis = place_of(dim, layout, rank(node))
    parts = [low.read(source, layout) for source in sources]
    sizes = [arranged(low.shape(source), layout)[axis] for source in sources]
    shape = arranged(low.shape(node), layout)
    while len(parts) > _MOST_CONCATENATED:
        shape[axis] = sum(sizes[:_MOST_CONCATENATED])
        joined = low.writer.value(node.meta["val"].dtype, shape)
        low.add(_joined(axis, parts[:_MOST_CONCATENATED], joined), node)
        parts = [joined, *parts[_MOST_CONCATENATED:]]
        sizes = [shape[axis], *sizes[_MOST_CONCATENATED:]]
    low.add(_joined(axis, parts, low.result(node, layout)), node)


def _joined(axis: int, parts: list[int], result: int) -> object:
    padded = [*parts, *[g.INVALID_ID] * (_MOST_CONCATENATED - len(parts))]
    return _CONCATENATES[len(parts)](axis, *padded[:4], result, 0, padded[4])


def _refuse_slice(node: Node, program: ExportedProgram) -> str | None:
    source = cast(Node, node.args[0])
    if argument(node, 4, "step", 1) != 1:
        return "its step is not 1"
    if not is_static(source.meta["val"].shape) or not is_static(node.meta["val"].shape):
        return "its sizes are not fixed"
    return None


def _slice(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    dim, start = cast(int, argument(node, 1, "dim", 0)), cast("int | None", argument(node, 2, "start"))
    layout = low.layout_of(source)
    axis = place_of(dim, layout, rank(node))
    whole = arranged(low.shape(source), layout)
    first = 0 if start is None else start + whole[axis] if start < 0 else start
    offsets = [0] * len(whole)
    offsets[axis] = min(max(first, 0), whole[axis])
    sizes = arranged(low.shape(node), layout)
    operands = low.read(source, layout), low.result(node, layout)
    low.add(g.StaticSlice(len(sizes), offsets, sizes, *operands), node)


def _refuse_pad(node: Node, program: ExportedProgram) -> str | None:
    paddings = cast("list[int]", node.args[1])
    if any(not isinstance(padding, int) or padding < 0 for padding in paddings):
        return f"paddings {paddings} are not all fixed and positive"
    return None


def _pad(low: Lowering, node: Node) -> None:
    source, given = cast(Node, node.args[0]), cast("list[int]", node.args[1])
    layout = low.layout_of(source)
    missing = [0] * (rank(node) - len(given) // 2)
    # Given from the last dimension to the first.
    before = arranged([*missing, *given[-2::-2]], layout)
    after = arranged([*missing, *given[-1::-2]], layout)
    value = float(cast(float, argument(node, 2, "value", 0.0)))
    operands = low.read(source, layout), low.result(node, layout)
    low.add(g.StaticConstantPad(before, after, value, *operands), node)


def _permute(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    order = [dim % rank(node) for dim in cast("list[int]", node.args[1])]
    layout = low.layout_of(source)
    if layout is Layout.CHANNELS_LAST and tuple(order) == TO_CHANNELS_LAST:
        low.reuse(node, low.read(source, layout), Layout.PLAIN)
    elif layout is Layout.PLAIN and tuple(order) == TO_PLAIN:
        low.reuse(node, low.read(source), Layout.CHANNELS_LAST)
    else:
        low.add(g.StaticTranspose(len(order), order, low.read(source), low.result(node)), node)


def _refuse_view(node: Node, program: ExportedProgram) -> str | None:
    unknown = [size for size in node.meta["val"].shape if not isinstance(size, int)]
    return None if len(unknown) < 2 else f"{len(unknown)} of its sizes are not fixed, at most 1"


def _view(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    # XNNPACK takes 0 for the size that follows from the others.
    shape = [size if isinstance(size, int) else 0 for size in node.meta["val"].shape]
    low.add(g.StaticReshape(len(shape), shape, low.read(source), low.result(node)), node)


def _refuse_expand(node: Node, program: ExportedProgram) -> str | None:
    source = cast(Node, node.args[0])
    return None if source.meta["val"].shape == node.meta["val"].shape else "it repeats elements"


def _same(low: Lowering, node: Node) -> None:
    low.rename(node, cast(Node, node.args[0]))


def _refuse_softmax(node: Node, program: ExportedProgram) -> str | None:
    source = cast(Node, node.args[0])
    if rank(source) == 0:
        return "its operand has no dimensions"
    if cast(int, node.args[1]) % rank(source) != rank(source) - 1:
        return f"it is over dimension {node.args[1]}, not the last"
    return "half_to_float" if node.args[2] else None


def _softmax(low: Lowering, node: Node) -> None:
    low.add(g.Softmax(low.read(cast(Node, node.args[0])), low.result(node)), node)


RULES: dict[str, Rule] = {
    "cat.default": Rule(_cat, _refuse_cat),
    "slice_copy.Tensor": Rule(_slice, _refuse_slice),
    "constant_pad_nd.default": Rule(_pad, _refuse_pad),
    "permute_copy.default": Rule(_permute),
    "view_copy.default": Rule(_view, _refuse_view),
    "unsqueeze_copy.default": Rule(_view, _refuse_view),
    "squeeze_copy.dim": Rule(_view, _refuse_view),
    "squeeze_copy.dims": Rule(_view, _refuse_view),
    "expand_copy.default": Rule(_same, _refuse_expand),
    "clone.default": Rule(_same),
    "_clone_dim_order.default": Rule(_same),
    "_to_dim_order_copy.default": Rule(_same),
    "_softmax.default": Rule(_softmax, _refuse_softmax),
}
