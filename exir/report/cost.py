# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Estimate the cost of a call from shapes: floating-point operations and bytes read and written.

The formulas of torch count matrix products and convolutions (`torch.utils.flop_counter`, two operations for each
multiply-add). A reduction counts one operation for each element read, a move none, any other operator one for each
element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.tensor import TensorSpec

# Names, without namespace and overload, of operators that only move values.
_MOVES = frozenset(
    {
        *("_to_copy", "_to_dim_order_copy", "_clone_dim_order", "_empty_dim_order", "_conj_physical"),
        *("cat", "clone", "constant_pad_nd", "copy", "copy_", "diagonal_scatter", "embedding", "empty", "empty_like"),
        *("embedding_2bit", "embedding_4bit", "embedding_byte"),
        *("fill", "flip", "full", "full_like", "gather", "index", "index_put", "index_put_", "index_select"),
        *("masked_fill", "masked_scatter", "masked_select", "ones", "ones_like", "pixel_shuffle", "pixel_unshuffle"),
        *("repeat", "roll", "scalar_tensor", "scatter", "select_scatter", "slice_scatter", "stack", "tril", "triu"),
        *("where", "zeros", "zeros_like"),
    }
)
# Products → index of the operand that is reduced along its last dimension. torch lacks formulas for some products. Its
# formulas for the others refuse operands with different bounds of the reduced size.
_PRODUCTS = {"linear": 0, "mv": 0, "dot": 0, "addmv": 1, "mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}


_Sized = tuple[tuple[int, ...], torch.dtype]


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a call.

    flops: floating-point operations. bytes: total size of the tensors read and written.
    """

    flops: int = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)


def cost_of(node: fx.Node) -> Cost:
    """Return the cost of a call. A dynamic size counts with its bound if the node has specs, else with its hint."""
    op = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    if not isinstance(op, OpOverload):
        return Cost()
    outs = [node.kwargs.get(item.name) for item in op._schema.arguments if item.is_out]
    memory = {out for out in tree_leaves(outs) if isinstance(out, fx.Node)}
    read = [tensor for operand in node.all_input_nodes if operand not in memory for tensor in _sizes(operand)]
    written = _sizes(node)
    moved = sum(math.prod(shape) * dtype.itemsize for shape, dtype in (*read, *written))
    return Cost(_flops(node, op, read, written), moved)


def _sizes(node: fx.Node) -> list[_Sized]:
    specs = [leaf for leaf in tree_leaves(node.meta.get("spec")) if isinstance(leaf, TensorSpec)]
    if specs:
        return [(tuple(_known(size) for size in spec.shape), spec.dtype) for spec in specs]
    values = [leaf for leaf in tree_leaves(node.meta.get("val")) if isinstance(leaf, torch.Tensor)]
    return [(tuple(_known(size) for size in value.shape), value.dtype) for value in values]


def _known(size: int | torch.SymInt) -> int:
    if isinstance(size, int) or not free_symbols(size):
        return int(size)
    hint = size.node.hint
    return 0 if hint is None else int(hint)


def _flops(node: fx.Node, op: OpOverload, read: list[_Sized], written: list[_Sized]) -> int:
    name = op._schema.name.split("::")[1]
    if name in _PRODUCTS:
        return 2 * math.prod(written[0][0]) * read[_PRODUCTS[name]][0][-1]
    counted = flop_registry.get(op.overloadpacket)
    if counted is not None:
        return int(counted(*(_shape(value) for value in node.args), out_val=written[0][0]))
    if op.namespace == "grouped":  # each row is in one group
        return 2 * math.prod(read[0][0]) * written[0][0][-1]
    if op.namespace == "recurrent":  # one multiply-add for each weight, step and sequence
        return 2 * math.prod(read[0][0][:2]) * sum(math.prod(shape) for shape, _ in read if len(shape) == 2)
    if name in _MOVES or name.endswith("_copy"):
        return 0
    return max((math.prod(shape) for shape, _ in (*read, *written)), default=0)


def _shape(value: object) -> object:
    """Return the shape of a tensor's node, which torch's formulas take, or the value itself for other arguments."""
    sized = _sizes(value) if isinstance(value, fx.Node) else []
    return sized[0][0] if sized else value
