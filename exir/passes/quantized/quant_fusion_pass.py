# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse quantized reference patterns into operators on integers, for nodes that run on kernels of this project.

dequantize ─▶ add ─▶ (relu ─▶) quantize          quantized_decomposed.add (relu: nothing below the zero point)
dequantize ─▶ view, slice, cat … ─▶ quantize     the same operator on the integers, where parameters are equal

passes/quantized/quantized_rows.py fuses embeddings of quantized tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import ExportPass
from executorch.exir.passes.quantized.fold_quantization_pass import undoes
from executorch.exir.passes.simplify.dead_code_elimination_pass import DeadCodeEliminationPass
from executorch.exir.passes.standalone.constant_prop_pass import constant_prop_pass
from executorch.exir.rewrite.fake_values import give_missing_values
from executorch.exir.rewrite.node_rewrite import argument, insert_before, replace_by
from executorch.exir.rewrite.quantized_values import MOVES

aten = ops.edge.aten
_MOVES = (aten.cat.default, *MOVES)


class QuantFusionPass(ExportPass):
    """Run it on edge programs with `transform` or `ExecutorchBackendConfig.passes`. It does not change results.

    _fix_node_meta_val, node_value_dict: accepted and ignored. The pass always updates `val`, and needs no constants.
    """

    def __init__(
        self, _fix_node_meta_val: bool = False, node_value_dict: Mapping[str, torch.Tensor] | None = None
    ) -> None:
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                modified |= node.op == "call_function" and (_fuse_move(node) or _fuse_add(node))
        if modified:
            DeadCodeEliminationPass().call(graph_module)
            give_missing_values(graph_module)
            graph_module.recompile()
        return PassResult(graph_module, modified)


def quant_fusion_and_const_prop_pass(program: ExportedProgram) -> ExportedProgram:
    """Run `QuantFusionPass`, then constant folding, in place."""
    QuantFusionPass().call(program.graph_module)
    return constant_prop_pass(program)


def _fuse_add(node: Node) -> bool:
    if not _calls(node, "quantize_per_tensor"):
        return False
    total: Any = node.args[0]
    relu = isinstance(total, Node) and total.target is aten.relu.default
    through = [total] if relu else []
    total = total.args[0] if relu else total
    if not isinstance(total, Node) or total.target is not aten.add.Tensor or argument(total, "alpha") != 1:
        return False
    operands = [addend for addend in total.args[:2] if _calls(addend, "dequantize_per_tensor")]
    if len(operands) < 2:
        return False
    if any(argument(operand, "dtype") is not argument(node, "dtype") for operand in operands):
        return False
    if any(len(removed.users) > 1 for removed in (total, *through)):
        return False
    fused = ops.edge.quantized_decomposed.add.default
    scale, zero_point, quant_min, quant_max = _parameters(node)
    quant_min = max(quant_min, zero_point) if relu else quant_min
    inputs = [value for operand in operands for value in (argument(operand, "input"), *_parameters(operand))]
    args = (*inputs, scale, zero_point, quant_min, quant_max)
    replace_by(node, insert_before(node, fused, args, {}, node.meta["val"]))
    return True


def _fuse_move(node: Node) -> bool:
    """Move integers instead of floats in dequantize ─▶ moves ─▶ quantize with equal parameters."""
    if not _calls(node, "quantize_per_tensor") or not _is_move(node.args[0]):
        return False
    if not all(undoes(node, source) for source in _ends(node.args[0])):
        return False
    replace_by(node, _moved_integers(node, node.args[0]))
    return True


def _is_move(node: object) -> TypeGuard[Node]:
    return isinstance(node, Node) and node.target in _MOVES and len(node.users) == 1


def _ends(node: Any) -> list[Any]:
    """Return the nodes before a chain of moves."""
    return [end for source in node.all_input_nodes for end in _ends(source)] if _is_move(node) else [node]


def _moved_integers(quantize: Node, node: Any) -> Any:
    """Insert the chain of moves on the integers that its floats were dequantized from."""
    if not _is_move(node):
        return argument(node, "input")
    moved: Any = node.args[0]
    integers: Any = (
        [_moved_integers(quantize, part) for part in moved]
        if isinstance(moved, (list, tuple))
        else _moved_integers(quantize, moved)
    )
    value = node.meta["val"].to(argument(quantize, "dtype"))
    return insert_before(quantize, node.target, (integers, *node.args[1:]), dict(node.kwargs), value)


def _calls(node: object, name: str) -> TypeGuard[Node]:
    """Return whether a node calls an operator of `quantized_decomposed` whose name begins with `name`."""
    called = getattr(getattr(node, "target", None), "name", None)
    return callable(called) and str(called()).startswith(f"quantized_decomposed::{name}")


def _parameters(node: Node) -> tuple[Any, ...]:
    return tuple(argument(node, name) for name in ("scale", "zero_point", "quant_min", "quant_max"))
