# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Linear layers and matrix products."""

from __future__ import annotations

from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import converted_weights, product_of
from executorch.backends.xnnpack.lowering.elements import Elements, per_channel
from executorch.backends.xnnpack.lowering.facts import (
    broadcast_at_bounds,
    constant_tensor,
    is_constant,
    operator_of,
    rank,
)
from executorch.backends.xnnpack.lowering.layout import Order, plain
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.lowering.quantization import Weights, dynamic_source, weights_of
from executorch.backends.xnnpack.operators.integers import if_weights, integer_operands, weight_elements
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

_NIBBLE = 4  # bits
_NIBBLE_ZERO = 8  # zero point of XNNPACK's 4-bit weights
_GROUPS_OF = 32  # XNNPACK's group sizes are multiples of 32
_TRANSPOSED = 1  # XNN_FLAG_TRANSPOSE_WEIGHTS: the right operand is transposed


def _refuse_linear(node: Node, program: ExportedProgram) -> Rejection | None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    computed = [operand for operand in node.args[1:3] if operand and not is_constant(program, operand)]
    if computed and min(rank(source), rank(weight)) < 2:
        return Rejection("it is a product of two computed vectors")
    if rank(weight) < 2:
        return Rejection("its constant weight is a vector, expected a matrix")
    return _refuse_bounds(source, weight, transposed=True) if weight in computed else None


def _bias(node: Node) -> Node | None:
    return cast("Node | None", node.args[2] if len(node.args) > 2 else None)


def takes_quantized_rows(node: Node, program: ExportedProgram) -> bool:
    """Return whether a node is a linear layer with constant integer weights whose operand is quantized dynamically, one
    scale a row.
    """
    if operator_of(node) != "aten.linear.default" or dynamic_source(node.args[0]) is None:
        return False
    bias = _bias(node)
    constant_bias = bias is None or is_constant(program, bias)
    weights = weights_of(program, node.args[1])
    return weights is not None and constant_bias and _fits(weights, _GROUPS_OF)


def keeps_weights_in_float(node: Node, program: ExportedProgram) -> bool:
    """Return whether a node is a float32 linear layer that multiplies its constant integer weights directly, without a
    float copy.
    """
    if operator_of(node) != "aten.linear.default" or node.meta["val"].dtype != torch.float32:
        return False
    weights, bias = weights_of(program, node.args[1]), _bias(node)
    return weights is not None and (bias is None or is_constant(program, bias)) and _fits(weights, 0)


def _fits(weights: Weights, groups_of: int) -> bool:
    """Return whether weights can stay integers: one scale for each row or each group of a row."""
    if not weights.group:
        return weights.axis in (None, 0)
    divides_rows = weights.values.shape[1] % weights.group == 0
    return bool(groups_of) and weights.bits == _NIBBLE and divides_rows and weights.group % groups_of == 0


def _integer_filters(low: Lowering, weights: Weights) -> g.ValueId:
    """Filter with one scale for each row or each group of a row. 4-bit integers are packed two in a byte."""
    outputs, inputs = weights.values.shape
    if weights.bits == _NIBBLE and inputs % 2 == 0:
        raised = (weights.values + _NIBBLE_ZERO).to(torch.uint8)
        pairs = raised[:, ::2] | raised[:, 1::2] << _NIBBLE
        if weights.group:
            scales = low.writer.data(weights.scales.bfloat16())
            quant = g.PerChannelGroupQuant([], 0, weights.group, None, scales, weights.scales.numel())
            return low.writer.constant(pairs, Elements(g.DataType.QBINT4, quant), (outputs, inputs))
        rows = g.PerChannelQuant(weights.scales.float().expand(outputs).tolist(), 0)
        return low.writer.constant(pairs, Elements(g.DataType.QCINT4, rows), (outputs, inputs))
    return _filters_of_rows(low, weights)


def _linear(low: Lowering, node: Node) -> None:
    source, weight, bias = cast(Node, node.args[0]), cast(Node, node.args[1]), _bias(node)
    if any(operand is not None and not low.is_constant(operand) for operand in (weight, bias)):
        _linear_of_computed(low, node)
        return
    if low.on_integers(node):
        operands = integer_operands(node, low.program)
        filters = low.writer.constant(operands.weights.values, weight_elements(operands.weights, 0))
        added = g.INVALID_ID
        if operands.bias is not None:
            added = low.writer.constant(operands.bias, operands.bias_elements)
        low.add(g.FullyConnected(low.read(source), filters, added, low.result(node)), node)
        return
    weights = weights_of(low.program, weight)
    if weights is not None and takes_quantized_rows(node, low.program):
        added = g.INVALID_ID if bias is None else low.single(bias)
        rows, filters = low.quantized_rows(cast(Node, dynamic_source(source))), _integer_filters(low, weights)
        low.add_in_single(lambda output: g.FullyConnected(rows, filters, added, output), node)
    elif weights is not None and _fits(weights, 0) and source.meta["val"].dtype == torch.float32:
        filters, added = _filters_of_rows(low, weights), _bias_of_rows(low, weights, bias)
        low.add(g.FullyConnected(low.read(source), filters, added, low.result(node)), node)
    else:
        added = g.INVALID_ID if bias is None else low.read(bias)
        low.add(g.FullyConnected(low.read(source), low.read(weight), added, low.result(node)), node)


def _filters_of_rows(low: Lowering, weights: Weights) -> g.ValueId:
    scales = weights.scales.expand(weights.values.shape[0])
    return low.writer.constant(weights.values, per_channel(torch.int8, scales, 0))


def _bias_of_rows(low: Lowering, weights: Weights, bias: Node | None) -> g.ValueId:
    """Bias of a float x int8 product, divided by the scale: XNNPACK multiplies product plus bias by the scale."""
    tensor = None if bias is None else low.constant(bias)
    return g.INVALID_ID if tensor is None else low.writer.constant((tensor.double() / weights.scales).float())


def _linear_of_computed(low: Lowering, node: Node) -> None:
    """XNNPACK packs a layer's weights once, so computed weights become a batch matrix product, which cannot clamp."""
    source, weight, bias = cast(Node, node.args[0]), cast(Node, node.args[1]), _bias(node)
    output = low.step(node, _transposed_product, low.read(source), low.read(weight), shape=low.shape(node))
    last = g.Clamp(output, low.result(node)) if bias is None else g.Add(output, low.read(bias), low.result(node))
    low.add(last, node)


def _transposed_product(left: g.ValueId, right: g.ValueId, output: g.ValueId) -> object:
    return g.BatchMatrixMultiply(left, right, output, _TRANSPOSED)


def _refuse_addmm(node: Node, program: ExportedProgram) -> Rejection | None:
    if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("beta", 1) != 1:
        return Rejection("alpha or beta is not 1")
    bias, weight = (constant_tensor(program, node.args[place]) for place in (0, 2))
    if bias is None or weight is None:
        return Rejection("its weight or bias is computed, expected a constant")
    columns = weight.shape[1]
    is_row = bias.shape[:-1].numel() == 1 and bias.numel() in (1, columns)
    return None if is_row else Rejection(f"its bias has shape {tuple(bias.shape)}, expected ({columns},)")


def _addmm(low: Lowering, node: Node) -> None:
    bias, source, weight = (cast(Node, argument) for argument in node.args[:3])
    tensor = low.constant(weight)
    assert tensor is not None
    columns = tensor.shape[1]
    operands = low.read(source), low.writer.constant(tensor.t()), _row(low, bias, columns)
    low.add(g.FullyConnected(*operands, low.result(node)), node)


def _row(low: Lowering, bias: Node, columns: int) -> g.ValueId:
    """Return the id of a constant bias of one row: sizes (1, columns), (1,) and () become (columns,)."""
    tensor = low.constant(bias)
    assert tensor is not None
    if tensor.shape == (columns,):
        return low.read(bias)
    return low.writer.constant(tensor.reshape(-1).expand(columns).contiguous())


def _refuse_product(node: Node, program: ExportedProgram) -> Rejection | None:
    left, right = (cast(Node, operand) for operand in node.args[:2])
    ranks = rank(left), rank(right)
    if min(ranks) > 1:
        return _refuse_bounds(left, right)
    return Rejection(f"its operands have {ranks[0]} and {ranks[1]} dimensions, expected at least 2")


def _refuse_bounds(left: Node, right: Node, transposed: bool = False) -> Rejection | None:
    """Return why matrices cannot be multiplied at the upper bounds of their sizes. None if they can."""
    one, other = left.meta["val"].shape, right.meta["val"].shape
    batches = zip(reversed(one[:-2]), reversed(other[:-2]), strict=False)
    for sizes in ((one[-1], other[-1 if transposed else -2]), *batches):
        if not broadcast_at_bounds(sizes):
            return Rejection(f"its operands' sizes {sizes[0]} and {sizes[1]} are equal only at run time")
    return None


def _product(low: Lowering, node: Node) -> None:
    """A constant right matrix becomes a fully connected node, which packs it once; other operands a batch product.
    Constant int8 weights stay integers and multiply float32.
    """
    left, right = cast(Node, node.args[0]), cast(Node, node.args[1])
    integers = converted_weights(low.program, right) if product_of(low.program, right) else None
    weight = low.constant(right)
    if integers is not None:
        rows, filters = low.single(left), _filters_of_rows(low, Weights(integers.t(), torch.ones(()), None, 0, 8))
        low.add_in_single(lambda output: g.FullyConnected(rows, filters, g.INVALID_ID, output), node)
        return
    if weight is not None and weight.dim() == 2:
        operands = low.read(left), low.writer.constant(weight.t())
        low.add(g.FullyConnected(*operands, g.INVALID_ID, low.result(node)), node)
        return
    order = _right_order(low, right)
    flags = 0 if order == plain(len(order)) else _TRANSPOSED
    operands = low.read(left), low.read(right, order)
    low.add(g.BatchMatrixMultiply(*operands, low.result(node), flags), node)


def _right_order(low: Lowering, right: Node) -> Order:
    """The program's order, or rows and columns swapped: the order that already exists, else the one that keeps rows
    contiguous.
    """
    size = rank(right)
    row_major: Order = plain(size)
    column_major = (*range(size - 2), size - 1, size - 2)
    free_orders = low.orders_of(right)
    if row_major in free_orders or not free_orders:
        return row_major
    return column_major if column_major in free_orders or free_orders[0][-1] == size - 2 else row_major


RULES: dict[str, Rule] = {
    "linear.default": Rule(
        _linear, _refuse_linear, fuses_activation=True, on_integers=if_weights(lambda node: 0), takes_empty=True
    ),
    "addmm.default": Rule(_addmm, _refuse_addmm, fuses_activation=True, takes_empty=True),
    "bmm.default": Rule(_product, _refuse_product, takes_empty=True),
    "mm.default": Rule(_product, _refuse_product, takes_empty=True),
    "matmul.default": Rule(_product, _refuse_product, takes_empty=True),
}
