# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Keep a dynamic quantization in one partition with all layers that read it.

    x ─▶ choose, quantize, dequantize ─▶ q, k, v projections

Dynamically quantized values do not leave a delegate, so all layers that read one must be in its delegate. Layers of one
operand do not depend on each other and can therefore always share a partition.
"""

from __future__ import annotations

from torch.fx import Graph, Node

from executorch.backends.xnnpack.lowering.facts import operator_of
from executorch.backends.xnnpack.lowering.quantization import DYNAMIC, dynamic_source


def layers_of_one_operand(graph: Graph) -> list[list[Node]]:
    """Return, for each dynamic quantization, its nodes and the layers that read no other one."""
    groups: list[list[Node]] = []
    for choice in graph.nodes:
        if choice.op != "call_function" or operator_of(choice) not in DYNAMIC:
            continue
        group = [choice]
        for parameter in choice.users:  # getitem of scale and zero point
            for call in parameter.users:  # quantize and dequantize
                dequantized = [reader for reader in (call, *call.users) if dynamic_source(reader) is choice.args[0]]
                layers = [reader for source in dequantized for reader in source.users if _reads_one(reader)]
                group += [parameter, call, *dequantized, *layers]
        groups.append(list(dict.fromkeys(group)))
    return groups


def _reads_one(layer: Node) -> bool:
    """Return False for a product of two dynamically quantized operands: one may depend on the other."""
    return sum(dynamic_source(node) is not None for node in layer.all_input_nodes) == 1
