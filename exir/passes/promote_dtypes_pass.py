# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operands of different dtypes are converted in the graph, where PyTorch would convert them inside of the operator."""

from __future__ import annotations

import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.node_rewrite import insert_before
from executorch.exir.passes.scalar_to_tensor_pass import promoted_dtype

# Operators that promote → positions of the operands they promote.
PROMOTING_OPERATORS: dict[str, tuple[int, ...]] = {
    **{
        f"aten::{name}.Tensor": (0, 1)
        for name in (
            [
                "add",
                "sub",
                "mul",
                "div",
                "eq",
                "ne",
                "lt",
                "le",
                "gt",
                "ge",
                "fmod",
                "remainder",
                "bitwise_and",
                "bitwise_or",
                "bitwise_xor",
                "floor_divide",
            ]
        )
    },
    "aten::div.Tensor_mode": (0, 1),
    "aten::pow.Tensor_Tensor": (0, 1),
    "aten::minimum": (0, 1),
    "aten::maximum": (0, 1),
    "aten::atan2": (0, 1),
    "aten::where.self": (1, 2),
}


class PromoteDtypesPass(PassBase):
    """Inserts `_to_copy` on operands whose dtype is not the one computed in. Runs before dim orders are introduced."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for held in all_graph_modules(graph_module):
            for node in list(held.graph.nodes):
                positions = PROMOTING_OPERATORS.get(_name(node))
                if positions is not None:
                    modified = _promote(node, positions) or modified
        return PassResult(graph_module, modified)


def _name(node: fx.Node) -> str:
    return str(node.target.name()) if isinstance(node.target, torch._ops.OpOverload) else ""


def _promote(node: fx.Node, positions: tuple[int, ...]) -> bool:
    operands = {index: node.args[index] for index in positions if index < len(node.args)}
    values = {index: item.meta["val"] for index, item in operands.items() if isinstance(item, fx.Node)}
    if len({value.dtype for value in values.values()}) < 2:
        return False
    dtype = promoted_dtype(list(values.values()))
    args = list(node.args)
    for index, value in values.items():
        if value.dtype != dtype:
            with enable_python_dispatcher():
                converted = value.to(dtype)
            args[index] = insert_before(
                node, torch.ops.aten._to_copy.default, (args[index],), {"dtype": dtype}, converted
            )
    node.args = tuple(args)
    return True
