# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove quantize(dequantize(x)) with equal scale and zero point, which is x."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import argument, replace_by

_QUANTIZE = "quantized_decomposed::quantize_per_"
_DEQUANTIZE = "quantized_decomposed::dequantize_per_"
_ALIKE = ("scale", "scales", "zero_point", "zero_points", "axis", "quant_min", "quant_max", "dtype")


def _name(node: object) -> str:
    target = getattr(node, "target", None)
    return str(target.name()) if callable(getattr(target, "name", None)) else ""  # type: ignore[union-attr]


def _parameters(node: fx.Node) -> dict[str, Any]:
    names = {item.name for item in node.target._schema.arguments}  # type: ignore[union-attr]
    return {name: argument(node, name) for name in _ALIKE if name in names}


def undoes(node: fx.Node, source: Any) -> bool:
    """Return whether `node` quantizes the result of the dequantize `source` with equal parameters, without clamping."""
    name, other = _name(node), _name(source)
    if not (name.startswith(_QUANTIZE) and other.startswith(_DEQUANTIZE)):
        return False
    same_kind = name.removeprefix(_QUANTIZE) == other.removeprefix(_DEQUANTIZE)
    parameters = _parameters(node)
    if not same_kind or parameters != _parameters(source) or parameters["dtype"] not in (torch.int8, torch.uint8):
        return False
    limits = torch.iinfo(parameters["dtype"])
    return bool(parameters["quant_min"] <= limits.min and parameters["quant_max"] >= limits.max)


class FoldQuantizationPass(GraphPass):
    """Removes quantize(dequantize(x)) with equal parameters on 8-bit integers.

    This is exact: the error of (x - z) * s / s is less than half, so it rounds to x - z. A pair between an input and an
    output stays: the two must not share memory.

    Helps: between integer operators.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            outputs = set(module.graph.output_node().all_input_nodes)
            for node in list(module.graph.nodes):
                if node.op != "call_function" or node in outputs or not undoes(node, node.args[0]):
                    continue
                replace_by(node, node.args[0].args[0])
                modified = True
        return PassResult(graph_module, modified)
