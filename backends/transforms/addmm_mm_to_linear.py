# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace matrix products with a transposed weight by `linear` and remove the views around them."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by, with_values
from executorch.exir.sym_util import eval_shape, eval_shape_upper_bound

_aten: Any = ops.edge.aten
_dequantize: Any = ops.edge.quantized_decomposed.dequantize_per_tensor.tensor
_UNBOUNDED = torch.iinfo(torch.int64).max - 1
_TRANSPOSES = (_aten.t_copy.default, _aten.permute_copy.default)


def get_shape(input_node: Node) -> list[Any]:
    """Sizes of a node's tensor: upper bounds of symbols, or their hints if a symbol is unbounded."""
    shape = input_node.meta["val"].shape
    bounds = eval_shape_upper_bound(shape)
    return eval_shape(shape) if any(bound >= _UNBOUNDED for bound in bounds) else bounds


def get_dqlinear_input(node: Node) -> Node | None:
    """The dequantize node that `node` views, through any number of views; None if the source is another node."""
    while node.op == "call_function":
        if node.target is _dequantize:
            return node
        if node.target is not _aten.view_copy.default:
            return None
        node = node.args[0]  # type: ignore[assignment]
    return None


def replace_addmm_mm_with_linear(graph: fx.Graph) -> fx.Graph:
    """Replace `addmm` and `mm` whose second matrix is a transpose by `linear`, in place; return the graph."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in (_aten.mm.default, _aten.addmm.default):
            continue
        with_bias = node.target is _aten.addmm.default
        matrix: Any = node.args[2 if with_bias else 1]
        if matrix.target not in _TRANSPOSES:
            continue
        operands = (node.args[1], matrix.args[0], node.args[0]) if with_bias else (node.args[0], matrix.args[0])
        value = _aten.linear.default(*with_values(operands))
        replace_by(node, insert_before(node, _aten.linear.default, operands, {}, value))
    graph.eliminate_dead_code()
    return graph


def replace_linear_view_copy_input_output(graph: fx.Graph) -> fx.Graph:
    """Remove, in place, the views between a dequantize and a `linear`, and the view after the `linear` that restores
    the leading dimensions; return the graph.
    """
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not _aten.linear.default:
            continue
        source: Any = node.args[0]
        dequantized = get_dqlinear_input(source)
        if dequantized is not None and dequantized is not source and len(source.args[0].users) == 1:
            source.replace_all_uses_with(dequantized)
            node.meta["val"] = node.target(*with_values(node.args))
        users = list(node.users)
        if len(users) == 1 and users[0].target is _aten.view_copy.default:
            sizes = [*get_shape(node.args[0])[:-1], node.args[1].meta["val"].shape[0]]
            if sizes == get_shape(users[0]):
                users[0].replace_all_uses_with(node)
    graph.eliminate_dead_code()
    return graph


def apply_addmm_mm_to_linear_transform(graph: fx.Graph) -> fx.Graph:
    """Run both replacements in place; return the graph."""
    return replace_linear_view_copy_input_output(replace_addmm_mm_with_linear(graph))


class AddmmToLinearTransform(ExportPass):
    """`apply_addmm_mm_to_linear_transform` as a pass."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        apply_addmm_mm_to_linear_transform(graph_module.graph)
        graph_module.recompile()
        return PassResult(graph_module, True)
