# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Mark buffers whose initial values the program stores."""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.passes.graph_pass import HookedGraphPass

# Key of `node.meta` that emission reads (exir/emit/method.py): the initial value is stored even if it is all zeros.
_KEEP_INITIAL_VALUE = "et_init_buffer"


class InitializedMutableBufferPass(HookedGraphPass):
    """Selects mutable buffers whose initial values are stored even if they are zeros.

    patterns: a buffer whose placeholder's name contains one of these is stored with its initial value.

    Emission always stores initial values that are not all zeros. Other buffers rely on memory that starts zeroed.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        super().__init__()
        self.patterns = tuple(patterns)

    def rewrite_graphs(self, graph_module: fx.GraphModule) -> PassResult:
        marked = [
            node
            for node in graph_module.graph.find_nodes(op="placeholder")
            if any(pattern in str(node.target) for pattern in self.patterns)
        ]
        for node in marked:
            node.meta[_KEEP_INITIAL_VALUE] = True
        return PassResult(graph_module, bool(marked))
