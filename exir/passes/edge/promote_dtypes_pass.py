# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert operands of different dtypes in the graph. PyTorch converts them inside the operator."""

from __future__ import annotations

import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects.legal_dtypes import operator_of, tensor_arguments
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.edge.scalar_to_tensor_pass import promoted_dtype
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import insert_before


class PromoteDtypesPass(GraphPass):
    """Inserts `_to_copy` on operands whose dtype differs from the promoted one. Runs before `MemoryFormatOpsPass`.

    The operator table (dialects/operator_table.py) lists the operands that each operator promotes.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                if isinstance(node.target, OpOverload):
                    modified = _promote(node, _promoted_positions(node.target)) or modified
        return PassResult(graph_module, modified)


def _promoted_positions(op: OpOverload) -> tuple[int, ...]:
    operator = operator_of(op)
    promotes = () if operator is None else operator.promotes
    return tuple(index for index, name, keyword in tensor_arguments(op) if name in promotes and not keyword)


def _promote(node: fx.Node, positions: tuple[int, ...]) -> bool:
    arguments = [node.args[index] for index in positions if index < len(node.args)]
    nodes = [operand for argument in arguments for operand in _items(argument) if isinstance(operand, fx.Node)]
    values = [operand.meta["val"] for operand in nodes]
    if len({value.dtype for value in values}) < 2:
        return False
    dtype = promoted_dtype(values)
    result = node.meta["val"]
    if isinstance(result, torch.Tensor) and result.is_floating_point() and not dtype.is_floating_point:
        # If integers give a float result (true division), int64 must not be narrowed to another operand's width first.
        dtype = result.dtype
    args = list(node.args)
    for index in positions:
        if index < len(args):
            args[index] = fx.map_arg(args[index], lambda operand: _converted(node, operand, dtype))
    node.args = tuple(args)
    return True


def _items(operand: object) -> list[object]:
    return list(operand) if isinstance(operand, (list, tuple)) else [operand]


def _converted(user: fx.Node, operand: fx.Node, dtype: torch.dtype) -> fx.Node:
    value = operand.meta["val"]
    if value.dtype == dtype:
        return operand
    with enable_python_dispatcher():
        converted = value.to(dtype)
    return insert_before(user, torch.ops.aten._to_copy.default, (operand,), {"dtype": dtype}, converted)
