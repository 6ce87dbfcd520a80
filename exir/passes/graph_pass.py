# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The bases of passes that rewrite graphs in place. Users derive passes from them, which may override the hooks."""

from __future__ import annotations

from types import FunctionType

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import ExportPass

# Methods of ExportPass that control the interpretation. A subclass that overrides only these is not interpreted.
_NOT_HOOKS = frozenset({"call", "call_submodule", "inputs", "should_preserve_symbolic_input_metadata"})
_HOOKS = [
    name
    for name, member in vars(ExportPass).items()
    if isinstance(member, FunctionType) and not name.startswith("_") and name not in _NOT_HOOKS
]


class GraphPass(ExportPass):
    """A pass that rewrites the graphs of a module in place. Calling it also generates the code of the graphs again.

    `call` interprets nothing, so it calls no hook. The hooks are for a subclass whose `call` interprets the graph.
    """

    def __call__(self, graph_module: GraphModule) -> PassResult:
        result = self.rewrite(graph_module)
        for module in all_graph_modules(result.graph_module):
            module.recompile()
        return result

    def rewrite(self, graph_module: GraphModule) -> PassResult:
        """Run the pass without generating code, for pipelines that generate it once at their end."""
        result = PassBase.__call__(self, graph_module)
        assert result is not None, f"{type(self).__name__}.call returned no PassResult"
        return result


class HookedGraphPass(GraphPass):
    """A pass whose subclasses may override hooks of `ExportPass`, as `call_operator`.

    The graph is interpreted only if there are such hooks. They see the calls before `rewrite_graphs` replaces them;
    `super().call_operator` emits a call that `rewrite_graphs` replaces like any other.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        if all(getattr(type(self), hook) is getattr(ExportPass, hook) for hook in _HOOKS):
            return self.rewrite_graphs(graph_module)
        interpreted = super().call(graph_module).graph_module
        return PassResult(self.rewrite_graphs(interpreted).graph_module, True)

    def rewrite_graphs(self, graph_module: GraphModule) -> PassResult:
        """Rewrite all graphs of the module in place."""
        raise NotImplementedError(f"{type(self).__name__}.rewrite_graphs")
