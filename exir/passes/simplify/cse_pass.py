# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Common subexpression elimination: compute equal calls on equal arguments once."""

from __future__ import annotations

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.operator.call_effects import is_repeatable
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import replace_by


def _key(value: object) -> object:
    if isinstance(value, fx.Node):
        return ("node", value)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(_key(item) for item in value))
    if isinstance(value, dict):
        return tuple((name, _key(item)) for name, item in sorted(value.items()))
    return (type(value).__name__, repr(value) if isinstance(value, float) else value)


def _may_be_merged(node: fx.Node) -> bool:
    if node.op == "get_attr":
        return isinstance(node.meta.get("val"), torch.Tensor)
    if node.op != "call_function" or not isinstance(node.target, (OpOverload, EdgeOpOverload)):
        return False
    return is_repeatable(node) and "empty" not in node.target._schema.name


def _schema_name(node: fx.Node) -> str | None:
    return node.target._schema.name if isinstance(node.target, (OpOverload, EdgeOpOverload)) else None


class CSEPass(GraphPass):
    """Merges equal calls of deterministic operators.

    A call whose result the graph returns stays, so that outputs do not share memory. So do calls of the operators that
    UNSAFE_OPS names ("aten::add"), to which a derived class adds its own; those that draw random numbers or write to
    arguments are found without it.

    Helps: masks, sizes, shared projections.
    """

    UNSAFE_OPS: frozenset[str] = frozenset()

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            returned = set(module.graph.output_node().all_input_nodes)
            seen: dict[object, fx.Node] = {}
            for node in list(module.graph.nodes):
                if not _may_be_merged(node) or _schema_name(node) in self.UNSAFE_OPS:
                    continue
                key = (node.op, node.target, _key(node.args), _key(node.kwargs))
                try:
                    first = seen.setdefault(key, node)
                except TypeError:  # an unhashable argument cannot be compared
                    continue
                if first is not node and node not in returned:
                    replace_by(node, first)
                    modified = True
        return PassResult(graph_module, modified)
