# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compute each size once, from an input of the graph where possible.

The size then depends on no operator, so one delegate can contain both the operator and the reader of its size.
"""

from __future__ import annotations

import torch
from torch import fx

from executorch.exir.rewrite.node_rewrite import insert_before, replace_by

_SIZE = torch.ops.aten.sym_size.int


def share_sizes(graph: fx.Graph) -> None:
    """Replace every symbolic integer by the first node with the same expression, in place."""
    of_inputs = _sizes_of_inputs(graph)
    first: dict[str, fx.Node] = {}
    inputs_end = next(node for node in graph.nodes if node.op != "placeholder")
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if not isinstance(value, torch.SymInt):
            continue
        formula = str(value.node.expr)
        input_size = of_inputs.get(formula)
        if formula not in first and node.op == "call_function" and input_size is not None and node.args != input_size:
            first[formula] = insert_before(inputs_end, _SIZE, input_size, {}, value, node)
        known = first.setdefault(formula, node)
        if known is not node and node.op == "call_function":
            replace_by(node, known)


def _sizes_of_inputs(graph: fx.Graph) -> dict[str, tuple[fx.Node, int]]:
    """Return {expression of a dynamic size: (placeholder, dimension)}."""
    sizes: dict[str, tuple[fx.Node, int]] = {}
    for node in graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                sizes.setdefault(str(size.node.expr), (node, dim))
    return sizes
