# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Elementwise operators, activations among them."""

from __future__ import annotations

import math
from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, rank, tensors_of
from executorch.backends.xnnpack.lowering.layout import Layout
from executorch.backends.xnnpack.lowering.lowering import Limits, Lowering
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g


def _unary(kind: type) -> Rule:
    def emit(low: Lowering, node: Node) -> None:
        (source,) = tensors_of(node)
        layout = low.layout_of(source)
        low.add(kind(low.read(source, layout), low.result(node, layout)), node)

    return Rule(emit)


def _binary(kind: type) -> Rule:
    def emit(low: Lowering, node: Node) -> None:
        left, right = cast(Node, node.args[0]), cast(Node, node.args[1])
        layout = low.layout_of(left, right)
        operands = low.read(left, layout), low.read(right, layout)
        low.add(kind(*operands, low.result(node, layout)), node)

    return Rule(emit, _refuse_alpha, fuses_activation=True)


def _refuse_alpha(node: Node, program: ExportedProgram) -> str | None:
    alpha = node.kwargs.get("alpha", 1)
    return None if alpha == 1 else f"alpha is {alpha}, expected 1"


def limits_of(node: Node) -> Limits:
    """The bounds of a clamp, relu or hardtanh."""
    name = str(node.target)
    if "relu" in name:
        return (0.0, math.inf)
    low, high = argument(node, 1, "min", argument(node, 1, "min_val")), argument(node, 2, "max")
    if "hardtanh" in name:
        low, high = argument(node, 1, "min_val", -1.0), argument(node, 2, "max_val", 1.0)
    return (
        -math.inf if low is None else float(cast(float, low)),
        math.inf if high is None else float(cast(float, high)),
    )


def _refuse_limits(node: Node, program: ExportedProgram) -> str | None:
    if len(tensors_of(node)) != 1:
        return "its bounds are tensors"
    low, high = limits_of(node)
    return None if low < high else f"its bounds {low} and {high} are out of order"


def _clamp(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    layout = low.layout_of(source)
    kind = g.Clamp(low.read(source, layout), low.result(node, layout))
    low.writer.node(kind, node.meta.get("debug_handle", 0), limits_of(node))


def _leaky_relu(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    layout = low.layout_of(source)
    slope = float(cast(float, argument(node, 1, "negative_slope", 0.01)))
    low.add(g.LeakyReLU(slope, low.read(source, layout), low.result(node, layout)), node)


def _refuse_elu(node: Node, program: ExportedProgram) -> str | None:
    scale, input_scale = argument(node, 2, "scale", 1), argument(node, 3, "input_scale", 1)
    if scale != 1 or input_scale != 1:
        return f"scale {scale} and input_scale {input_scale}, expected 1"
    alpha = cast(float, argument(node, 1, "alpha", 1.0))
    return None if alpha > 0 and math.isfinite(alpha) else f"alpha is {alpha}, expected a positive number"


def _elu(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    layout = low.layout_of(source)
    alpha = float(cast(float, argument(node, 1, "alpha", 1.0)))
    low.add(g.ELU(alpha, low.read(source, layout), low.result(node, layout)), node)


def _refuse_gelu(node: Node, program: ExportedProgram) -> str | None:
    approximate = node.kwargs.get("approximate", "none")
    return None if approximate == "none" else f"approximate is {approximate!r}, expected 'none'"


def _power(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    layout = low.layout_of(source)
    low.add(g.Square(low.read(source, layout), low.result(node, layout)), node)


def _refuse_power(node: Node, program: ExportedProgram) -> str | None:
    return None if node.args[1] == 2 else f"exponent is {node.args[1]}, expected 2"


def _refuse_prelu(node: Node, program: ExportedProgram) -> str | None:
    weight = cast(Node, node.args[1])
    if rank(cast(Node, node.args[0])) != 4:
        return "its operand is no image"
    return None if rank(weight) == 1 else "its weight is not one number a channel"


def _prelu(low: Lowering, node: Node) -> None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    operands = low.read(source, Layout.CHANNELS_LAST), low.read(weight)
    low.add(g.PReLU(*operands, low.result(node, Layout.CHANNELS_LAST)), node)


_UNARY: dict[str, type] = {
    "sigmoid.default": g.Sigmoid,
    "floor.default": g.Floor,
    "ceil.default": g.Ceiling,
    "sqrt.default": g.SquareRoot,
    "rsqrt.default": g.ReciprocalSquareRoot,
    "neg.default": g.Negate,
    "abs.default": g.Abs,
    "hardswish.default": g.Hardswish,
    "log.default": g.Log,
    "tanh.default": g.Tanh,
    "exp.default": g.Exp,
    "sin.default": g.Sin,
    "cos.default": g.Cos,
    "square.default": g.Square,
}

_BINARY: dict[str, type] = {
    "add.Tensor": g.Add,
    "sub.Tensor": g.Subtract,
    "mul.Tensor": g.Multiply,
    "div.Tensor": g.Div,
    "minimum.default": g.Minimum,
    "maximum.default": g.Maximum,
}

CLAMPS = ("relu.default", "hardtanh.default", "clamp.default")
"""Operators that may be made with the node before them."""

RULES: dict[str, Rule] = {
    **{name: _unary(kind) for name, kind in _UNARY.items()},
    **{name: _binary(kind) for name, kind in _BINARY.items()},
    **{name: Rule(_clamp, _refuse_limits) for name in CLAMPS},
    "gelu.default": Rule(_unary(g.Gelu).emit, _refuse_gelu),
    "leaky_relu.default": Rule(_leaky_relu),
    "elu.default": Rule(_elu, _refuse_elu),
    "pow.Tensor_Scalar": Rule(_power, _refuse_power),
    "_prelu_kernel.default": Rule(_prelu, _refuse_prelu),
    "prelu.default": Rule(_prelu, _refuse_prelu),
}
