# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace products of one row with transposed matrices by `linear`, which reads the matrices as they are."""

from __future__ import annotations

from torch import fx
from torch.export import ExportedProgram

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.rewrite.node_rewrite import argument, retarget

_aten = exir_ops.edge.aten


def recompose_linear(program: ExportedProgram) -> None:
    """Replace each `mm` and `addmm` of one row with a transposed matrix by one call of `linear`, in place.

    Helps: the product of one row takes as long as reading the matrix, which is read in the order of its memory. With
    more rows the transpose stays: it is folded into constant weights.

    Results: the last bits may differ, because the kernel adds in another order.
    """
    modified = False
    for node in program.graph.nodes:
        operands = _operands(node)
        if operands is not None:
            retarget(node, _aten.linear.default, operands, {})
            modified = True
    if modified:
        program.graph.eliminate_dead_code()


def _operands(node: fx.Node) -> tuple[fx.Node, ...] | None:
    """Return row, matrix and bias, if any, of the call of `linear` that replaces `node`; None if there is none."""
    if node.target is _aten.mm.default:
        row, right, bias = argument(node, "self"), argument(node, "mat2"), None
    elif node.target is _aten.addmm.default and not node.kwargs:
        row, right, bias = argument(node, "mat1"), argument(node, "mat2"), argument(node, "self")
    else:
        return None
    value = row.meta["val"]
    is_one_row = isinstance(value.shape[0], int) and value.shape[0] == 1 and value.dtype.is_floating_point
    if not is_one_row or right.target is not _aten.permute_copy.default or list(argument(right, "dims")) != [1, 0]:
        return None
    matrix = argument(right, "self")
    if bias is None:
        return row, matrix
    return (row, matrix, bias) if bias.meta["val"].shape == matrix.meta["val"].shape[:1] else None
