# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Elementwise operators, including activations, that become one XNNPACK node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, rank, tensors_of
from executorch.backends.xnnpack.lowering.layout import CHANNELS_LAST, Order, plain
from executorch.backends.xnnpack.lowering.lowering import ClampBounds, Lowering
from executorch.backends.xnnpack.lowering.quantization import Affine
from executorch.backends.xnnpack.operators.booleans import conjunction, disjunction, with_logic
from executorch.backends.xnnpack.operators.integers import if_scales, products_fit, sums_fit
from executorch.backends.xnnpack.operators.rule import Check, OnIntegers, Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection


def unary(
    make: Callable[[Node, g.ValueId, g.ValueId], object],
    refusal: Check = lambda node, program: None,
    on_integers: OnIntegers | None = None,
) -> Rule:
    """Rule of a unary operator; `make(call, operand, result)` returns the XNNPACK node."""

    def emit(low: Lowering, node: Node) -> None:
        (source,) = tensors_of(node)
        order = low.order_of(source)
        low.add(make(node, low.read(source, order), low.result(node, order)), node)

    return Rule(emit, refusal, on_integers=on_integers)


def _plain_unary(kind: type) -> Rule:
    # XNNPACK computes it on integers by a table of 256 results. Partial functions return NaN, so they lack one.
    table = None if kind in _PARTIAL_FUNCTIONS else if_scales(lambda operands, result: True)
    return unary(lambda node, source, output: kind(source, output), on_integers=table)


def _binary(kind: type) -> Rule:
    def emit(low: Lowering, node: Node) -> None:
        left, right = cast(Node, node.args[0]), cast(Node, node.args[1])
        order = low.order_of(left, right)
        first, second = low.operand(left, order), low.operand(right, order)
        alpha = cast(float, node.kwargs.get("alpha", 1))
        if alpha != 1:
            sizes = _sizes_read(low, right, order)
            second = low.step(node, g.Multiply, second, low.scalar(node, alpha), shape=sizes)
        low.add(kind(first, second, low.result(node, order)), node)

    return Rule(emit, _refuse_alpha, fuses_activation=True, on_integers=_ON_INTEGERS.get(kind))


def _sizes_read(low: Lowering, node: Node, order: Order) -> Sequence[int]:
    """Return the sizes, in their order in memory, of the value that `low.operand(node, order)` returns."""
    if rank(node) == len(order):
        return low.shape(node, order)
    if order == plain(len(order)) or not low.is_constant(node):
        return low.shape(node)
    sizes = [1] * (len(order) - rank(node)) + [int(size) for size in node.meta["val"].shape]
    return [sizes[dim] for dim in order]


def _sum_on_integers(node: Node, result: Affine, program: ExportedProgram) -> bool:
    return bool(node.kwargs.get("alpha", 1) == 1) and if_scales(sums_fit)(node, result, program)


_ON_INTEGERS: dict[type, OnIntegers] = {
    g.Add: _sum_on_integers,
    g.Subtract: _sum_on_integers,
    g.Multiply: if_scales(products_fit),
}


def _refuse_alpha(node: Node, program: ExportedProgram) -> Rejection | None:
    alpha = node.kwargs.get("alpha", 1)
    return None if isinstance(alpha, (int, float)) else Rejection("alpha is computed, expected a constant")


def _with_scalar(kind: type) -> Rule:
    """Rule of an operator of a tensor and a scalar; the scalar becomes a constant."""

    def emit(low: Lowering, node: Node) -> None:
        source = cast(Node, node.args[0])
        number = cast(float, node.args[1]) * cast(float, argument(node, 2, "alpha", 1))
        order = low.order_of(source)
        operands = low.read(source, order), low.scalar(node, number)
        low.add(kind(*operands, low.result(node, order)), node)

    return Rule(emit, _refuse_computed_scalar, fuses_activation=True)


def _refuse_computed_scalar(node: Node, program: ExportedProgram) -> Rejection | None:
    fixed = all(isinstance(arg, (int, float)) for arg in node.args[1:])
    return None if fixed else Rejection("its scalar operand is computed, expected a constant")


def clamp_bounds(node: Node) -> ClampBounds:
    """Return the bounds of a clamp, relu or hardtanh."""
    name = str(node.target)
    if "relu" in name:
        return (0.0, math.inf)
    if "hardtanh" in name:
        low, high = argument(node, 1, "min_val", -1.0), argument(node, 2, "max_val", 1.0)
    else:
        low, high = argument(node, 1, "min"), argument(node, 2, "max")
    return (
        -math.inf if low is None else float(cast(float, low)),
        math.inf if high is None else float(cast(float, high)),
    )


def _refuse_clamp(node: Node, program: ExportedProgram) -> Rejection | None:
    if len(tensors_of(node)) != 1:
        return Rejection("its bounds are tensors")
    low, high = clamp_bounds(node)
    return None if low < high else Rejection(f"its bounds {low} and {high} are out of order")


def _clamp(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    order = low.order_of(source)
    low.add(g.Clamp(low.read(source, order), low.result(node, order)), node, clamp_bounds(node))


def _refuse_larger_bounds(node: Node, program: ExportedProgram) -> Rejection | None:
    source, *bounds = tensors_of(node)
    fits = all(rank(bound) <= rank(source) for bound in bounds)
    return None if fits else Rejection("its bounds have more dimensions than its operand")


def _clamp_to_tensors(low: Lowering, node: Node) -> None:
    """Emit the maximum with `min`, then the minimum with `max`."""
    source, smallest, largest = (argument(node, place, name) for place, name in enumerate(("self", "min", "max")))
    bounds = [(g.Maximum, smallest), (g.Minimum, largest)]
    given = [(kind, bound) for kind, bound in bounds if isinstance(bound, Node)]
    order = low.order_of(cast(Node, source), *(bound for _, bound in given))
    value = low.operand(cast(Node, source), order)
    for number, (kind, bound) in enumerate(given):
        operands = value, low.operand(bound, order)
        if number + 1 < len(given):
            value = low.step(node, kind, *operands, shape=low.shape(node, order))
        else:
            low.add(kind(*operands, low.result(node, order)), node)


def _leaky_relu(node: Node, source: g.ValueId, output: g.ValueId) -> object:
    return g.LeakyReLU(float(cast(float, argument(node, 1, "negative_slope", 0.01))), source, output)


def _leaky_relu_on_integers(node: Node, result: Affine, program: ExportedProgram) -> bool:
    slope = float(cast(float, argument(node, 1, "negative_slope", 0.01)))

    def fit(operands: list[float], scale: float) -> bool:
        ratio = operands[0] / scale
        below = abs(ratio * slope)
        return 2.0**-8 <= ratio <= 2.0**7 and 2.0**-8 <= below < 2.0**7

    return if_scales(fit)(node, result, program)


def _refuse_elu(node: Node, program: ExportedProgram) -> Rejection | None:
    input_scale = argument(node, 3, "input_scale", 1)
    if input_scale != 1:
        return Rejection(f"input_scale is {input_scale}, expected 1")
    alpha = cast(float, argument(node, 1, "alpha", 1.0))
    return None if alpha > 0 and math.isfinite(alpha) else Rejection(f"alpha is {alpha}, expected a positive number")


def _elu_on_integers(node: Node, result: Affine, program: ExportedProgram) -> bool:
    return argument(node, 2, "scale", 1) == 1 and if_scales(lambda operands, result: True)(node, result, program)


def _elu(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    order, alpha = low.order_of(source), float(cast(float, argument(node, 1, "alpha", 1.0)))
    scale = cast(float, argument(node, 2, "scale", 1))
    value = low.read(source, order)
    if scale == 1:
        low.add(g.ELU(alpha, value, low.result(node, order)), node)
        return
    curve = low.step(node, partial(g.ELU, alpha), value, shape=low.shape(source, order))
    low.add(g.Multiply(curve, low.scalar(node, scale), low.result(node, order)), node)


def _refuse_prelu(node: Node, program: ExportedProgram) -> Rejection | None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    if rank(weight) == 0 or rank(source) == rank(weight):
        return None  # the weights broadcast as they are
    return None if rank(source) > 1 else Rejection("its operand has no channels")


def _prelu(low: Lowering, node: Node) -> None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    order = CHANNELS_LAST if rank(source) == 4 else low.order_of(source)
    slopes = low.constant(weight)
    if slopes is None:
        operand = low.operand(weight, order)
    else:
        # The slope has one element, or one for each channel (dimension 1).
        shaped = slopes if slopes.dim() == rank(source) else slopes.reshape(-1, *[1] * (rank(source) - 2))
        front = [1] * (rank(source) - shaped.dim())
        operand = low.writer.constant(shaped.reshape(*front, *shaped.shape).permute(order))
    low.add(g.PReLU(low.read(source, order), operand, low.result(node, order)), node)


# Functions that are NaN for negative inputs.
_PARTIAL_FUNCTIONS = (g.SquareRoot, g.ReciprocalSquareRoot, g.Log)

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
    "round.default": g.BankersRounding,
}

_BINARY: dict[str, type] = {
    "add.Tensor": g.Add,
    "sub.Tensor": g.Subtract,
    "div.Tensor": g.Div,
    "copysign.Tensor": g.CopySign,
}

_WITH_SCALAR: dict[str, type] = {
    "add.Scalar": g.Add,
    "sub.Scalar": g.Subtract,
    "mul.Scalar": g.Multiply,
    "div.Scalar": g.Div,
}

CLAMPS = ("relu.default", "hardtanh.default", "clamp.default")
"""Clamps that may be fused into the node before them."""

RULES: dict[str, Rule] = {
    **{name: _plain_unary(kind) for name, kind in _UNARY.items()},
    **{name: _binary(kind) for name, kind in _BINARY.items()},
    "mul.Tensor": with_logic(_binary(g.Multiply), conjunction),
    "minimum.default": with_logic(_binary(g.Minimum), conjunction),
    "maximum.default": with_logic(_binary(g.Maximum), disjunction),
    **{name: _with_scalar(kind) for name, kind in _WITH_SCALAR.items()},
    **{name: Rule(_clamp, _refuse_clamp, on_integers=if_scales(lambda operands, result: True)) for name in CLAMPS},
    "clamp.Tensor": Rule(_clamp_to_tensors, _refuse_larger_bounds),
    "leaky_relu.default": unary(_leaky_relu, on_integers=_leaky_relu_on_integers),
    "elu.default": Rule(_elu, _refuse_elu, on_integers=_elu_on_integers),
    "_prelu_kernel.default": Rule(_prelu, _refuse_prelu),
    "prelu.default": Rule(_prelu, _refuse_prelu),
}
