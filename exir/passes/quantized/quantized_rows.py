# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse dequantize(table) ─▶ embedding into `embedding_byte`, `embedding_4bit` or `embedding_2bit`.

The fused operator dequantizes only the rows it looks up. Results are equal, and the file stores the integers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from executorch.exir.dialects._ops import ops
from executorch.exir.rewrite.node_rewrite import argument, insert_before, replace_by
from executorch.exir.rewrite.program_constants import add_constant, constant_tensors

_TABLES = ("quantized_decomposed::dequantize_per_channel", "quantized_decomposed::dequantize_per_channel_group")
_QUANTIZED = ("quantized_decomposed::quantize_per_channel", "quantized_decomposed::quantize_per_channel_group")
_PACKED = {(-8, 7): 4, (-2, 1): 2}
"""(quant_min, quant_max) of integers that are packed into bytes → their bits."""


def look_up_quantized_rows(program: ExportedProgram) -> None:
    """Fuse embeddings of constant tables with a scale for each row or group, in place, in the Edge dialect.

    Helps: quantized embeddings. Only the rows that are looked up are dequantized.
    """
    constants = constant_tensors(program)
    for node in list(program.graph.nodes):
        if node.target is ops.edge.aten.embedding.default:
            _quantize_table(program, node, constants)
            _look_up(program, node, constants)


def _quantize_table(program: ExportedProgram, node: Node, constants: dict[str, torch.Tensor]) -> None:
    """Compute the integers of a table that the program quantizes itself (`convert_pt2e(fold_quantize=False)`)."""
    table: Any = node.args[0]
    if table.op != "call_function" or _operator(table) not in _TABLES:
        return
    integers: Any = argument(table, "input")
    operator = _operator(integers) if integers.op == "call_function" else ""
    if operator not in _QUANTIZED or not all(source.name in constants for source in integers.all_input_nodes):
        return
    args, kwargs = pytree.tree_map_only(
        Node, lambda source: constants[source.name].detach(), (integers.args, integers.kwargs)
    )
    computed = integers.target._op(*args, **kwargs)
    constant = add_constant(program, "_quantized_rows", computed, integers.meta["val"], integers)
    constants[constant.name] = computed
    replace_by(integers, constant)


def _operator(node: Node) -> str:
    name: str = node.target.name() if hasattr(node.target, "name") else ""
    return name.partition(".")[0]


def _constant(program: ExportedProgram, like: Node, tensor: torch.Tensor) -> Node:
    value = like.meta["val"].fake_mode.from_tensor(tensor, static_shapes=True)
    return add_constant(program, "_quantized_rows", tensor, value, like)


def _parameters(table: Node, constants: dict[str, torch.Tensor]) -> tuple[Node, Node, torch.Tensor | None] | None:
    """Return integers, scales and zero points (None: all are 0) of a table, or None if it cannot be fused."""
    name = _operator(table) if table.op == "call_function" else ""
    if name not in _TABLES or (not name.endswith("group") and argument(table, "axis") != 0):
        return None
    integers, scales = argument(table, "input"), argument(table, "scales")
    zeros = argument(table, "zero_points")
    if not all(source is None or source.name in constants for source in (integers, scales, zeros)):
        return None
    if constants[integers.name].dtype not in (torch.int8, torch.uint8) or constants[integers.name].dim() != 2:
        return None
    zero_points = None if zeros is None or not constants[zeros.name].any() else constants[zeros.name]
    return integers, scales, zero_points


def _look_up(program: ExportedProgram, node: Node, constants: dict[str, torch.Tensor]) -> None:
    table: Any = node.args[0]
    parameters = _parameters(table, constants)
    if parameters is None:
        return
    from executorch.exir.operator.quantized import packed  # defines the operators

    integers, scales, zero_points = parameters
    limits = argument(table, "quant_min"), argument(table, "quant_max")
    bits = _PACKED.get(limits, 8)
    if constants[integers.name].shape[1] % (8 // bits):
        bits = 8
    kind, value = scales.meta["val"].dtype, node.meta["val"]
    zeros = None if zero_points is None else _constant(program, scales, zero_points.to(kind))
    weight = integers if bits == 8 else _constant(program, integers, packed(constants[integers.name].detach(), bits))
    operator = getattr(ops.edge.quantized_decomposed, "embedding_byte" if bits == 8 else f"embedding_{bits}bit")
    operands = (weight, scales, zeros, *limits, node.args[1])
    if value.dtype is kind:
        replace_by(node, insert_before(node, operator.default, operands, {}, value))
    else:
        replace_by(node, insert_before(node, operator.dtype, operands, {"dtype": value.dtype}, value))
