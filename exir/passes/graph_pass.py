# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The base of passes that rewrite graphs in place."""

from __future__ import annotations

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.graph_module import all_graph_modules


class GraphPass(PassBase):
    """A pass that rewrites the graphs of a module in place. Calling it also generates the code of the graphs again."""

    def __call__(self, graph_module: GraphModule) -> PassResult:
        result = self.rewrite(graph_module)
        for module in all_graph_modules(result.graph_module):
            module.recompile()
        return result

    def rewrite(self, graph_module: GraphModule) -> PassResult:
        """Run the pass without generating code, for pipelines that generate it once at their end."""
        result = super().__call__(graph_module)
        assert result is not None, f"{type(self).__name__}.call returned no PassResult"
        return result
