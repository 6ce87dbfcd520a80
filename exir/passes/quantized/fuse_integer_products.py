# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse mm(convert(int8), convert(constant int8)) in int32, the decomposition of torchao's `_int_mm`.

One operator on int8 operands replaces it, with equal results.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from executorch.exir.dialects._ops import ops
from executorch.exir.rewrite.fusion_site import Constants, aten
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by

# int32 holds the sum of this many products of two int8 (kernels/quantized/int8/integer_loops.h).
_MAX_TERMS = (1 << 17) - 1
_CONVERT = ops.edge.dim_order_ops._to_dim_order_copy.default


def fuse_integer_products(constants: Constants) -> bool:
    """Fuse in place. Return whether anything was fused."""
    products = [node for node in constants.program.graph.nodes if node.target is aten.mm.default]
    fused = [_fuse(constants, node) for node in products]
    return any(fused)


def _fuse(constants: Constants, node: fx.Node) -> bool:
    left, right = node.args
    weight = _weight(constants, right)
    if node.meta["val"].dtype is not torch.int32 or not _is_converted(left) or weight is None:
        return False
    source: Any = left.args[0]  # type: ignore[union-attr]
    if list(source.meta["val"].dim_order()) != [0, 1]:
        return False
    product = ops.edge.quantized_fused.product.default
    replace_by(node, insert_before(node, product, (source, weight), {}, node.meta["val"], node))
    return True


def _is_converted(node: object) -> bool:
    """Return whether a call converts int8 to int32."""
    return (
        isinstance(node, fx.Node)
        and node.target is _CONVERT
        and node.meta["val"].dtype is torch.int32
        and node.args[0].meta["val"].dtype is torch.int8  # type: ignore[union-attr]
    )


def _weight(constants: Constants, node: Any) -> fx.Node | None:
    """Return a constant node with the transposed int8 right operand, or None if that is not constant or too long."""
    columns_are_rows, is_converted, at = False, False, node
    while isinstance(at, fx.Node) and (at.target is aten.permute_copy.default or _is_converted(at)):
        if at.target is aten.permute_copy.default:
            columns_are_rows ^= list(at.args[1]) == [1, 0]  # type: ignore[arg-type]
        is_converted |= _is_converted(at)
        at = at.args[0]
    tensor = constants.value(at) if isinstance(at, fx.Node) and at.op == "placeholder" else None
    if not is_converted or tensor is None or tensor.dim() != 2:
        return None
    rows = tensor if columns_are_rows else tensor.t()
    if rows.shape[1] > _MAX_TERMS:
        return None
    return at if columns_are_rows and tensor.is_contiguous() else constants.add("_fused_weight", rows, node)
