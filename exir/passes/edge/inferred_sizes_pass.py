# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes that a view or expand need not be told: what follows from the others is neither computed nor passed on.

A delegate that takes tensors alone can then take such a view, too.
"""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.graph_module import all_graph_modules

_INFERRED = -1
_NAMES = ("aten::view_copy", "aten::expand_copy")


class InferredSizesPass(PassBase):
    """Replaces a size that is computed while running by -1 where it follows from the others: one of a view, and those
    of an expand that are the operand's.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for held in all_graph_modules(graph_module):
            for node in held.graph.nodes:
                name = node.target.name() if callable(getattr(node.target, "name", None)) else ""
                if node.op != "call_function" or name not in _NAMES:
                    continue
                sizes = _told(node)
                computed = [place for place, size in enumerate(sizes) if isinstance(size, fx.Node)]
                if not computed or not _follow(node, name, computed):
                    continue
                node.update_arg(1, [_INFERRED if place in computed else size for place, size in enumerate(sizes)])
                modified = True
        return PassResult(graph_module, modified)


def _told(node: fx.Node) -> list[Any]:
    """The sizes of a call; numbers that the model has left to be inferred (-1 of a view or an expand) are given."""
    known = node.meta["val"].shape
    sizes: list[Any] = list(node.args[1])  # type: ignore[arg-type]
    left = [place for place, size in enumerate(sizes) if size == _INFERRED and isinstance(known[place], int)]
    return [known[place] if place in left else size for place, size in enumerate(sizes)]


def _follow(node: fx.Node, name: str, places: list[int]) -> bool:
    if name == "aten::view_copy":
        return len(places) == 1 and _INFERRED not in _told(node)
    source, expanded = node.args[0].meta["val"].shape, node.meta["val"].shape  # type: ignore[union-attr]
    first = len(expanded) - len(source)
    return all(place >= first and str(source[place - first]) == str(expanded[place]) for place in places)
