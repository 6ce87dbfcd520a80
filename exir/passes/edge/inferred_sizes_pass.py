# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace computed sizes of views and expands by -1 where the operator can infer them.

The graph then no longer computes the size, and a delegate that takes only tensors as inputs can take the view. A group
norm cannot infer its batch: it reads the size of its own operand, which a delegate can take with it.
"""

from __future__ import annotations

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import insert_before

_INFERRED = -1
_NAMES = ("aten::view_copy", "aten::expand_copy")
_GROUP_NORM = "aten::native_group_norm"


class InferredSizesPass(GraphPass):
    """Replaces computed sizes of views and expands by -1, and gives each group norm a size of its own.

    The size is the only computed one of a view, or one of an expand that equals the operand's. A group norm reads a
    size of its operand that nothing else reads.

    Helps: the graph no longer computes the size, and delegates that take only tensors can take the view.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                name = node.target.name() if callable(getattr(node.target, "name", None)) else ""
                if node.op == "call_function" and name == _GROUP_NORM and _reads_shared_size(node):
                    value = node.args[0].meta["val"].shape[0]
                    node.update_arg(3, insert_before(node, torch.ops.aten.sym_size.int, (node.args[0], 0), {}, value))
                    modified = True
                if node.op != "call_function" or name not in _NAMES:
                    continue
                sizes = _given_sizes(node)
                computed_dims = [dim for dim, size in enumerate(sizes) if isinstance(size, fx.Node)]
                if not computed_dims or not _can_be_inferred(node, name, computed_dims):
                    continue
                node.update_arg(1, [_INFERRED if dim in computed_dims else size for dim, size in enumerate(sizes)])
                modified = True
        return PassResult(graph_module, modified)


def _reads_shared_size(node: fx.Node) -> bool:
    """Return whether the batch of a group norm is computed from another tensor, or has other readers."""
    size = node.args[3]
    return isinstance(size, fx.Node) and (size.args[:1] != node.args[:1] or len(size.users) > 1)


def _given_sizes(node: fx.Node) -> list[object]:
    """Return the sizes argument of a call, with each -1 of the model replaced by the size where that is a constant."""
    known = node.meta["val"].shape
    sizes: list[object] = list(node.args[1])  # type: ignore[arg-type]
    inferred = [dim for dim, size in enumerate(sizes) if size == _INFERRED and isinstance(known[dim], int)]
    return [known[dim] if dim in inferred else size for dim, size in enumerate(sizes)]


def _can_be_inferred(node: fx.Node, name: str, dims: list[int]) -> bool:
    if name == "aten::view_copy":
        return len(dims) == 1 and _INFERRED not in _given_sizes(node)
    source, expanded = node.args[0].meta["val"].shape, node.meta["val"].shape  # type: ignore[union-attr]
    first = len(expanded) - len(source)
    return all(dim >= first and str(source[dim - first]) == str(expanded[dim]) for dim in dims)
