# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators over windows of images: pooling, means, resizing."""

from __future__ import annotations

from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, is_static, rank
from executorch.backends.xnnpack.lowering.layout import CHANNELS_LAST
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g

_ALIGN_CORNERS = 0x08  # XNNPACK's flag


def _pair(value: object, default: list[int]) -> list[int]:
    """Height and width of what may be given as one number or left out."""
    given = [value] if isinstance(value, int) else list(cast("list[int]", value or default))
    return given * 2 if len(given) == 1 else given


def _window(node: Node) -> tuple[list[int], list[int], list[int]]:
    kernel = _pair(node.args[1], [])
    return kernel, _pair(argument(node, 2, "stride"), kernel), _pair(argument(node, 3, "padding"), [0, 0])


def _refuse_window(node: Node) -> str | None:
    kernel, stride, _ = _window(node)
    if rank(cast(Node, node.args[0])) != 4:
        return "its operand is no batch of images"
    if kernel == [1, 1]:
        return "its window is one element"
    if any(step > size for step, size in zip(stride, kernel, strict=True)):
        return f"stride {stride} skips elements between windows of {kernel}"
    return None


def _refuse_max(node: Node, program: ExportedProgram) -> str | None:
    if argument(node, 5, "ceil_mode", False):
        return "ceil_mode"
    users = [user for user in node.users if "getitem" in str(user.target)]
    if any(user.args[1] != 0 and user.users for user in users):
        return "its indices are used"
    return _refuse_window(node)


def _max(low: Lowering, node: Node) -> None:
    kernel, stride, padding = _window(node)
    dilation = _pair(argument(node, 4, "dilation"), [1, 1])
    whole = "with_indices" not in str(node.target)
    result = node if whole else next(user for user in node.users if user.args[1] == 0)
    _pool(low, g.MaxPooling2d, node, result, (kernel, stride, padding, dilation))


def _refuse_average(node: Node, program: ExportedProgram) -> str | None:
    padding = _window(node)[2]
    if argument(node, 4, "ceil_mode", False):
        return "ceil_mode"
    if argument(node, 5, "count_include_pad", True) and any(padding):
        return "count_include_pad with padding"
    if argument(node, 6, "divisor_override") is not None:
        return "divisor_override"
    return _refuse_window(node)


def _average(low: Lowering, node: Node) -> None:
    _pool(low, g.AvgPooling2d, node, node, (*_window(node), [1, 1]))


def _pool(low: Lowering, kind: type, node: Node, result: Node, window: tuple[list[int], ...]) -> None:
    kernel, stride, (vertical, horizontal), dilation = window
    source = low.read(cast(Node, node.args[0]), CHANNELS_LAST)
    made = low.result(result, CHANNELS_LAST)
    paddings = (vertical, horizontal, vertical, horizontal)
    low.add(kind(*paddings, *kernel, *stride, *dilation, source, made), node)


def _refuse_resize(node: Node, program: ExportedProgram) -> str | None:
    return None if is_static(node.meta["val"].shape[2:]) else "the size of its result is not fixed"


def _resize(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    height, width = low.shape(node)[2:]
    flags = _ALIGN_CORNERS if node.args[2] else 0
    operands = low.read(source, CHANNELS_LAST), low.result(node, CHANNELS_LAST)
    low.add(g.StaticResizeBilinear2D(height, width, *operands, flags), node)


RULES: dict[str, Rule] = {
    "max_pool2d.default": Rule(_max, _refuse_max),
    "max_pool2d_with_indices.default": Rule(_max, _refuse_max),
    "avg_pool2d.default": Rule(_average, _refuse_average),
    "upsample_bilinear2d.vec": Rule(_resize, _refuse_resize),
}
