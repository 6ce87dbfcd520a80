# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Duplicate dynamic quantization for each reader.

For backends that delegate a quantization chain only together with its single reader. XNNPACK's partitioner also accepts
shared chains.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.exir.graph_module import all_graph_modules

__all__ = ["DuplicateDynamicQuantChainPass"]

_CHOOSE = "quantized_decomposed::choose_qparams"
_QUANTIZE = "quantized_decomposed::quantize_per_t"  # tensor, token
_DEQUANTIZE = "quantized_decomposed::dequantize_per_t"


class DuplicateDynamicQuantChainPass(PassBase):
    """Copies choose_qparams, quantize and dequantize for every reader of a dequantized tensor after the first. Works on
    captured and edge graphs and ignores readers of sizes.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for last in [node for node in module.graph.nodes if _chain(node)]:
                readers = [user for user in last.users if user.target is not torch.ops.aten.sym_size.int]
                for reader in readers[1:]:
                    reader.replace_input_with(last, _copy(last, reader))
                    modified = True
            without_dead_code(module)
        return PassResult(graph_module, modified)


def _is(node: Any, start: str) -> bool:
    name = getattr(node.target, "name", None) if isinstance(node, Node) and node.op == "call_function" else None
    return callable(name) and str(name()).startswith(start)


def _chain(last: Node) -> list[Node]:
    """The calls of a dynamic quantization that ends in `last`, in order; empty if `last` ends no such chain."""
    if not _is(last, _DEQUANTIZE) or not _is(last.args[0], _QUANTIZE):
        return []
    quantize: Any = last.args[0]
    parts = [
        argument
        for argument in quantize.args[1:3]
        if isinstance(argument, Node) and argument.target is operator.getitem
    ]
    if len(parts) != 2 or parts[0].args[0] is not parts[1].args[0] or not _is(parts[0].args[0], _CHOOSE):
        return []
    choose: Any = parts[0].args[0]
    return [choose, *parts, quantize, last] if quantize.args[1:3] == last.args[1:3] else []


def _copy(last: Node, reader: Node) -> Node:
    """Copy the chain to before `reader`; return its last node."""
    copies: dict[Node, Node] = {}
    with reader.graph.inserting_before(reader):
        for node in _chain(last):
            copies[node] = reader.graph.node_copy(node, lambda operand: copies.get(operand, operand))
    return copies[last]
