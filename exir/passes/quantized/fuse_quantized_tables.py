# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fusion of elementwise functions, sums, products, concatenations and paddings of quantized tensors.

An elementwise function of one tensor becomes a table of its 256 results, which the graph itself computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.node import Argument, map_arg

from executorch.exir.dialects._ops import ops
from executorch.exir.error import Rejection
from executorch.exir.operator.call_effects import draws_random_numbers
from executorch.exir.rewrite.fusion_site import Constants, Fusion, Site
from executorch.exir.rewrite.node_rewrite import argument, insert_before
from executorch.exir.rewrite.quantized_values import (
    Quantization,
    is_dequantize,
    moved_by,
    operand,
    operator,
)

_INTEGERS = torch.arange(-128, 128).to(torch.int8)
# Elementwise operators that PyTorch does not tag as pointwise.
_ELEMENTWISE = ("aten::hardswish",)
# Operators whose last two arguments clamp their results.
_LIMITED = (
    *(f"quantized_fused::{name}" for name in ("convolution", "transposed_convolution", "linear", "mean", "avg_pool2d")),
    *("quantized_decomposed::add", "quantized_fused::mul", "quantized_fused::sub"),
)


def requantization_table(of: Quantization, to: Quantization) -> torch.Tensor:
    """Return the table from integers with parameters `of` to those with parameters `to`."""
    return to.quantize(of.dequantize(_INTEGERS))


def apply_table(site: Site, integers: fx.Node, table: torch.Tensor) -> fx.Node:
    """Apply the table to integers, before the site's end.

    A table that only clamps becomes the clamp of the operator that computes the integers, if only the site reads them.
    """
    if torch.equal(table, _INTEGERS):
        return integers
    low_integer, high_integer = int(table.min()), int(table.max())
    name = operator(integers).removesuffix(".default")
    if (
        torch.equal(table, _INTEGERS.clamp(low_integer, high_integer))
        and name in _LIMITED
        and _only_dequantized(integers, site)
    ):
        *rest, low, high = integers.args
        integers.args = (*rest, max(low, low_integer), min(high, high_integer))  # type: ignore[type-var]
        return integers
    return site.look_up_table(integers, table)


def _only_dequantized(integers: fx.Node, site: Site) -> bool:
    """Return whether only the site reads the integers."""
    chain = set(_chain(site.quantize.args[0]))
    return all(user in chain and set(user.users) <= {*chain, site.quantize} for user in integers.users)


def _chain(node: object) -> list[fx.Node]:
    """Return the nodes from a value back to its dequantize."""
    if not isinstance(node, fx.Node) or node.op != "call_function":
        return []
    if is_dequantize(node):
        return [node]
    return [node, *(link for source in node.all_input_nodes for link in _chain(source))]


def function(site: Site) -> Fusion | Rejection:
    """Match elementwise calls on one quantized tensor and constants with one element."""
    leaves: list[fx.Node] = []
    rejection = _collect(site.core, site.constants, leaves)
    if rejection is not None:
        return rejection
    sources = {(leaf.args[0], *_parameters(leaf)) if is_dequantize(leaf) else (leaf,) for leaf in leaves}
    if len(sources) != 1:
        return Rejection("it computes from several quantized tensors")
    of = operand(leaves[0])
    if isinstance(of, Rejection):
        return of
    shapes = {str(list(end.meta["val"].shape)) for end in (leaves[0], site.core)}
    if len(shapes) != 1:
        return Rejection("its result has another shape than its operand")
    if is_dequantize(site.core) and not site.moves and site.to.quantize(of.dequantize(_INTEGERS)).equal(_INTEGERS):
        return Rejection("nothing is computed")  # FoldQuantizationPass removes it
    table = site.to.quantize(_evaluate(site.core, site.constants, set(leaves), of.dequantize(_INTEGERS)))

    def build() -> fx.Node:
        return apply_table(site, site.integers_of(leaves[0]), table)

    return build


def _parameters(node: fx.Node) -> tuple[Any, ...]:
    return tuple(str(parameter) for parameter in node.args[1:])


def _is_elementwise(node: fx.Node) -> bool:
    if draws_random_numbers(node.target):
        return False
    return torch.Tag.pointwise in getattr(node.target, "tags", ()) or operator(node).startswith(_ELEMENTWISE)


def _collect(node: Any, constants: Constants, leaves: list[fx.Node]) -> Rejection | None:
    """Add the quantized tensors that a value depends on to `leaves`, or reject a value that is not elementwise."""
    if is_dequantize(node) or moved_by(node) is not None:
        leaves.append(node)
        return None
    known = constants.known.get(node.name)
    if known is not None and known.numel() == 1:
        return None
    if node.op != "call_function":
        return Rejection("an operand is not quantized")
    if not _is_elementwise(node):
        return Rejection("it has no fused operator")
    return next(filter(None, (_collect(source, constants, leaves) for source in node.all_input_nodes)), None)


def _evaluate(node: fx.Node, constants: Constants, leaves: set[fx.Node], leaf_values: torch.Tensor) -> torch.Tensor:
    if node in leaves:
        return leaf_values
    if node.name in constants.known:
        return constants.known[node.name].reshape(())
    values = {source: _evaluate(source, constants, leaves, leaf_values) for source in node.all_input_nodes}
    args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda source: values[source])
    with torch.no_grad():
        result: torch.Tensor = node.target(*args, **kwargs)  # type: ignore[operator]
    return result


_COMBINED = {
    "aten::add.Tensor": ops.edge.quantized_decomposed.add.default,
    "aten::mul.Tensor": ops.edge.quantized_fused.mul.default,
    "aten::sub.Tensor": ops.edge.quantized_fused.sub.default,
}


def combination(site: Site) -> Fusion | Rejection:
    """Match the sum, difference or product of two quantized tensors."""
    name = operator(site.core)
    if name != "aten::mul.Tensor" and argument(site.core, "alpha") != 1:
        return Rejection("its alpha is not 1")
    operands: list[object] = [argument(site.core, name) for name in ("self", "other")]
    results = [operand(source) for source in operands]
    for result in results:
        if isinstance(result, Rejection):
            return result

    def build() -> fx.Node:
        arguments: list[Argument] = []
        for value, of in zip(operands, results, strict=True):
            assert isinstance(of, Quantization)
            arguments += [site.integers_of(value), of.scale, of.zero_point, -128, 127]
        value = site.core.meta["val"].to(torch.int8)
        args = (*arguments, site.to.scale, *site.result)
        return insert_before(site.quantize, _COMBINED[name], args, {}, value, site.core)

    return build


def _requantized(site: Site, value: Argument, of: Quantization) -> fx.Node:
    """Return the integers of an operand, requantized with the result's parameters."""
    integers = site.integers_of(value)
    table = requantization_table(of, site.to)
    return integers if torch.equal(table, _INTEGERS) else site.look_up_table(integers, table)


def _same_operator(site: Site, *args: Argument) -> fx.Node:
    """Insert the site's operator on integers."""
    value = site.core.meta["val"].to(torch.int8)
    return insert_before(site.quantize, site.core.target, args, {}, value, site.core)


def concatenation(site: Site) -> Fusion | Rejection:
    """Match cat of quantized tensors. Operands whose parameters differ from the result's are requantized first."""
    operands: list[Argument] = list(argument(site.core, "tensors"))
    results = [operand(source) for source in operands]
    for result in results:
        if isinstance(result, Rejection):
            return result

    def build() -> fx.Node:
        parts = [
            _requantized(site, value, of)
            for value, of in zip(operands, results, strict=True)
            if isinstance(of, Quantization)
        ]
        return _same_operator(site, parts, argument(site.core, "dim"))

    return build


def padded(site: Site) -> Fusion | Rejection:
    """Match a pad with a constant, which is quantized."""
    source, value = argument(site.core, "self"), argument(site.core, "value")
    of = operand(source)
    if isinstance(of, Rejection):
        return of
    if isinstance(value, fx.Node):
        return Rejection("its padding value is computed at run time")

    def build() -> fx.Node:
        filler = int(site.to.quantize(torch.tensor(float(value))))
        return _same_operator(site, _requantized(site, source, of), list(argument(site.core, "pad")), filler)

    return build
