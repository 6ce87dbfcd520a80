# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the function of this module that `transformers.exporters` imports."""

from torch import fx


def get_input_node(node: fx.Node, input_index: int) -> fx.Node:
    """Return an operand of a node. TypeError if it is a number or a list."""
    operand = node.args[input_index]
    if not isinstance(operand, fx.Node):
        raise TypeError(f"{node.name}: operand {input_index}: expected a node, found {operand!r}")
    return operand
