# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A dequantize of its own for each reader, so that "dequantize → operator → quantize" never overlaps another."""

from __future__ import annotations

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import ExportPass

__all__ = ["DuplicateDequantNodePass"]

_DEQUANTIZE = "quantized_decomposed::dequantize_per_"


def _is_dequantize(node: fx.Node) -> bool:
    name = getattr(node.target, "name", None)
    return node.op == "call_function" and callable(name) and str(name()).startswith(_DEQUANTIZE)


class DuplicateDequantNodePass(ExportPass):
    """Copies every dequantize that several nodes read, so that each has one reader."""

    def call(self, mod: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(mod):
            for node in [node for node in module.graph.nodes if _is_dequantize(node)]:
                for user in list(node.users)[1:]:
                    with module.graph.inserting_before(user):
                        copy = module.graph.node_copy(node)
                    user.replace_input_with(node, copy)
                    modified = True
        return PassResult(mod, modified)
