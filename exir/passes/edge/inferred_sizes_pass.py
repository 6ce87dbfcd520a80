# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace computed sizes of views and expands by -1 where the operator can infer them.

The graph then no longer computes the size, and a delegate that takes only tensors as inputs can take the view.
"""

from __future__ import annotations

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass

_INFERRED = -1
_NAMES = ("aten::view_copy", "aten::expand_copy")


class InferredSizesPass(GraphPass):
    """Replaces computed sizes by -1: the only one of a view, and those of an expand that equal the operand's.

    Helps: the graph no longer computes the size, and delegates that take only tensors can take the view.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                name = node.target.name() if callable(getattr(node.target, "name", None)) else ""
                if node.op != "call_function" or name not in _NAMES:
                    continue
                sizes = _given_sizes(node)
                computed_dims = [dim for dim, size in enumerate(sizes) if isinstance(size, fx.Node)]
                if not computed_dims or not _can_be_inferred(node, name, computed_dims):
                    continue
                node.update_arg(1, [_INFERRED if dim in computed_dims else size for dim, size in enumerate(sizes)])
                modified = True
        return PassResult(graph_module, modified)


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
