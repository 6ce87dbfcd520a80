# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dynamic quantization goes into one partition with all layers that read it.

    x ─▶ choose, quantize, dequantize ─▶ q, k, v projections

A delegate quantizes inside while running: a layer in another delegate could not read what it quantized. Layers of one
operand do not depend on each other, so they can always be one partition.
"""

from __future__ import annotations

from torch.fx import Graph, Node

from executorch.backends.xnnpack.lowering.facts import operator_of
from executorch.backends.xnnpack.lowering.quantization import DYNAMIC, dynamic_source


def layers_of_one_operand(graph: Graph) -> list[list[Node]]:
    """The nodes of each dynamic quantization and the layers that read it; those with a common layer are one list."""
    group_of: dict[Node, list[Node]] = {}
    for choice in graph.nodes:
        if choice.op != "call_function" or operator_of(choice) not in DYNAMIC:
            continue
        group = [choice]
        for part in choice.users:
            for number in part.users:
                last = [each for each in (number, *number.users) if dynamic_source(each) is choice.args[0]]
                group += [part, number, *last, *(reader for each in last for reader in each.users)]
        for node in dict.fromkeys(group):
            other = group_of.get(node)
            if other is not None and other is not group:
                group = other + group
                group_of.update(dict.fromkeys(other, group))
        group_of.update(dict.fromkeys(group, group))
    unique = {id(group): group for group in group_of.values()}
    return [list(dict.fromkeys(group)) for group in unique.values()]
